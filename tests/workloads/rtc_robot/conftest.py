import rtc_robot  # noqa: F401 - prepares what lerobot imports, and so before any test imports lerobot

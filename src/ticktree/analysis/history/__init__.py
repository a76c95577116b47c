"""History: how the speed of a program changed over its runs, and with which commit."""

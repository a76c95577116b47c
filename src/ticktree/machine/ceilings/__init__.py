"""The machine a run is on: its processor, what it can do at most, and where that is kept."""

"""From memory files, live or left by the dead, to a profile."""

"""From memory files to a profile. Whatever reads a file raises a DamagedError where it is not valid."""

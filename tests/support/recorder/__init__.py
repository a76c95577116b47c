"""Random programs of sections, the players that perform them, and slow references to compare with."""

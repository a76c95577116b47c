"""Files: atomic writes, guarded reads and ownership, for everything that reads or writes files."""

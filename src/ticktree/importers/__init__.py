"""Files that other programs wrote, read as profiles: one format a module."""

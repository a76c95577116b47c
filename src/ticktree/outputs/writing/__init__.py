"""How names, numbers and tables are written, in every output."""

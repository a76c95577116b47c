"""A profile in the shapes that formats ask for: stacks, tracks, series, tables, single numbers."""

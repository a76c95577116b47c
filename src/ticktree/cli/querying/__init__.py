"""What `ticktree query` is made of: DuckDB over a dataset, and its answers as text."""

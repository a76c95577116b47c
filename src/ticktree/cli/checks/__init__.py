"""What `ticktree doctor` looks at: one file a question, each with a `check` that yields sentences."""

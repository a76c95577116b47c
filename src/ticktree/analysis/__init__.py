"""What the numbers say: pure functions of profiles."""

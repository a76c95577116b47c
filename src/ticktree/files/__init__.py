"""Files: the ground floor, on which everything that reads one stands."""

"""What files in other people's binary formats are made of."""

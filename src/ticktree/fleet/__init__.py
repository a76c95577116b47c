"""Transport and merge the parts of one run from many machines."""

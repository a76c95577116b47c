"""Parts of one run from many machines: how they are carried, and how they are merged."""

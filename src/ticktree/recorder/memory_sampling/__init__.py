"""Memory that calls need, of the process and of devices: on demand, and sampled."""

"""A run on a cluster: each machine's part is recorded there, and gathered while it goes on."""

"""What the machine did while the program ran: read from /proc and /sys about once a second by its supervisor."""

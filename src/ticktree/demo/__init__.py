"""What `ticktree demo` runs: a program as a user would write it, which needs only what ticktree needs."""

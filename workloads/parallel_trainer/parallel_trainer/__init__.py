"""A parallel trainer: a controller, a manager of environment processes, and PPO that learns from what they do."""

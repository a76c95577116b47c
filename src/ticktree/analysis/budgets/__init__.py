"""Budgets: limits on a run's measures, and whether the run keeps them."""

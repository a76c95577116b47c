"""Budgets in tests: a pytest plugin that records a test and checks budgets."""

# Title of a check's section in pytest's report of a test.
SECTION = "ticktree"

"""For tests of programs that record: budgets for what runs in a test."""

# The title of what pytest shows of a check, below what the test printed.
SECTION = "ticktree"

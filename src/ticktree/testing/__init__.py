"""For tests of programs that record: what runs in a test is held to budgets."""

# The title of what pytest shows of a check, below what the test printed.
SECTION = "ticktree"

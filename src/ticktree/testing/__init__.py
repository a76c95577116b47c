"""For tests of programs that record: what runs in a test is held to budgets."""

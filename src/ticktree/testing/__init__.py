"""For tests of programs that record: budgets for what runs in a test."""

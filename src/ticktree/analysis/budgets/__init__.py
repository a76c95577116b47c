"""Budgets: limits on a run's measures, and whether the run keeps them."""

from ticktree.analysis.budgets.check import STATUSES, Checked, Result, Status, check
from ticktree.analysis.budgets.measures import NAMES
from ticktree.analysis.budgets.plan import SLOWER, Bound, Budget, Plan, budget_of, plan_of, slower_of
from ticktree.analysis.budgets.subjects import BudgetError
from ticktree.analysis.quantities import Unit

__all__ = [
    "NAMES",
    "SLOWER",
    "STATUSES",
    "Bound",
    "Budget",
    "BudgetError",
    "Checked",
    "Plan",
    "Result",
    "Status",
    "Unit",
    "budget_of",
    "check",
    "plan_of",
    "slower_of",
]

"""Budgets: what a run may take, and whether it did."""

from ticktree.analysis.budgets.bound import Bound
from ticktree.analysis.budgets.budget import Budget
from ticktree.analysis.budgets.check import Checked, check
from ticktree.analysis.budgets.errors import BudgetError
from ticktree.analysis.budgets.plan import SLOWER, Plan, budget_of, plan_of, slower_of
from ticktree.analysis.budgets.registry import NAMES
from ticktree.analysis.budgets.result import STATUSES, Result, Status
from ticktree.analysis.budgets.unit import Unit

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

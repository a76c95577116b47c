"""What the fixture gives: a check, to be used as a context manager."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from ticktree.analysis.budgets.check import Checked, check
from ticktree.analysis.budgets.measures import BudgetError
from ticktree.analysis.budgets.plan import Plan, plan_of
from ticktree.analysis.comparison.differences import Difference, differences
from ticktree.configuration import budgets, configuration
from ticktree.errors import TicktreeError
from ticktree.profile import Profile
from ticktree.testing import SECTION
from ticktree.testing.recording import Recording, recording

_SOURCE = "ticktree_check:"
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")


class Check:
    """Called with budgets, it records and checks what runs in its `with` block.

    Args:
        test: The test that requested it.
        config: pytest's.
    """

    def __init__(self, test: pytest.Item, config: pytest.Config) -> None:
        self._test = test
        self._config = config
        self._count = 0

    def __call__(self, budgets: Mapping[str, Any] | None = None) -> Checking:
        """Return what records and checks.

        Args:
            budgets: As [tool.ticktree.budgets] has them; by default those of the project.

        Raises:
            BudgetError: One of them is invalid, or there is none.
        """
        __tracebackhide__ = True
        self._count += 1
        plan = self._with_baseline(self._plan(budgets))
        if plan.is_empty and self._option("save") is None:
            raise BudgetError(f"{_SOURCE} there is no budget, here or in [tool.ticktree.budgets]")
        return Checking(self._test, self._config, plan, self._file("save"))

    def _plan(self, given: Mapping[str, Any] | None) -> Plan:
        if given is not None:
            return _with_folder(plan_of(given, _SOURCE), self._config.rootpath)
        table = configuration(self._config.rootpath)
        return _with_folder(budgets(table), table.path.parent if table.path else self._config.rootpath)

    def _with_baseline(self, plan: Plan) -> Plan:
        kept = self._file("baseline")
        if kept is None:
            return plan
        if kept.exists():
            return replace(plan, baseline=str(kept))
        warnings.warn(pytest.PytestWarning(f"ticktree_check: no baseline {kept}"), stacklevel=3)
        return plan

    def _file(self, option: str) -> Path | None:
        """Where this check of this test is kept."""
        folder = self._option(option)
        if folder is None:
            return None
        number = f"-{self._count}" if self._count > 1 else ""
        name = _NOT_IN_FILE_NAMES.sub("-", self._test.nodeid).strip("-")
        return folder / f"{name}{number}.json"

    def _option(self, name: str) -> Path | None:
        found: Path | None = self._config.getoption(f"ticktree_{name}")
        return None if found is None else self._config.invocation_params.dir / found


class Checking(AbstractContextManager["Checking"]):
    """Records, from its beginning to its end, what the process does, and checks it.

    Attributes:
        profile: what was recorded, once it has ended.
        checked: what became of each budget, once it has ended well.
    """

    def __init__(self, test: pytest.Item, config: pytest.Config, plan: Plan, keep: Path | None) -> None:
        self._test, self._config, self._plan, self._keep = test, config, plan, keep
        self._recording: AbstractContextManager[Recording] = recording()
        self._recorded = Recording()
        self.profile = Profile.empty()
        self.checked = Checked(())

    def __enter__(self) -> Self:
        """Begins to record."""
        __tracebackhide__ = True
        self._recorded = self._recording.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Stops recording, and checks unless what ran has failed by itself.

        Raises:
            AssertionError: A budget failed, or was not measured.
            TicktreeError: A budget is about nothing that was recorded, or the baseline cannot be compared.
        """
        __tracebackhide__ = True
        self._recording.__exit__(None, None, None)
        self.profile = self._recorded.profile or Profile.empty()
        if self._keep or self._plan.baseline:
            self.profile = _described(self.profile, self._test, self._config.rootpath)
        if error is not None:
            if isinstance(error, Exception):
                self._show()
            return
        self._save()
        self._check()

    def _check(self) -> None:
        __tracebackhide__ = True
        from ticktree.loading import load_repeats

        base = load_repeats([Path(self._plan.baseline)]) if self._plan.baseline else []
        try:
            apart = differences(base, [self.profile]) if base else []
            _refuse_unlike(apart, self._plan.allow_different)
            self.checked = check([self.profile], self._plan, base)
        except TicktreeError:
            self._show()
            raise
        bad = self.checked.of("fail") + self.checked.of("not measured")
        if bad or self._config.get_verbosity() > 0:
            self._show(apart)
        if bad:
            from ticktree.outputs.budgets import line, verdict
            from ticktree.outputs.writing import formatting

            lines = [f"{formatting.verdict(result.status)}: {line(result)}" for result in bad]
            raise AssertionError("\n  ".join([verdict(self.checked), *lines]))

    def _show(self, apart: Sequence[Difference] = ()) -> None:
        """Puts the budgets and the tree where pytest shows what a test printed."""
        from ticktree.outputs import OUTPUTS, ViewOptions
        from ticktree.outputs.budgets import CHECKS

        view = ViewOptions()
        pieces = [OUTPUTS["terminal"].render(self.profile, view)]
        if self.checked.results:
            pieces.insert(0, CHECKS["terminal"](self.checked, apart, view))
        self._test.add_report_section("call", SECTION, b"\n".join(pieces).decode())

    def _save(self) -> None:
        if self._keep is None:
            return
        from ticktree.files.atomic import write_atomically

        try:
            self._keep.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._keep, self.profile.to_json().encode())
        except OSError as error:
            raise TicktreeError(f"cannot write {self._keep}: {error.strerror}") from None


def _with_folder(plan: Plan, folder: Path) -> Plan:
    """A plan whose baseline, if it is a relative path, lies in `folder`."""
    return replace(plan, baseline=str(folder / plan.baseline)) if plan.baseline else plan


def _described(profile: Profile, test: pytest.Item, folder: Path) -> Profile:
    """The profile with what must be known of machine and program to compare it with another."""
    from ticktree.run.facts import describe_program

    facts = describe_program(["pytest", test.nodeid], folder)
    return profile.merge(Profile(metadata={key: frozenset([value]) for key, value in facts.items()}))


def _refuse_unlike(apart: Sequence[Difference], allowed: bool) -> None:
    grounds = [difference for difference in apart if difference.is_ground]
    if grounds and not allowed:
        differences = ", ".join(f"{fact.key}: {fact.base or '-'} -> {fact.new or '-'}" for fact in grounds)
        raise TicktreeError(
            f"the baseline differs in more than the program ({differences}); allow_different = true compares it anyway"
        )

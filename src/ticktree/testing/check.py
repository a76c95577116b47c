"""What the fixture gives: a check, to be used as a context manager."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
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
from ticktree.files.atomic import write_atomically
from ticktree.loading import load_repeats
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.budgets import CHECKS, line, verdict
from ticktree.outputs.writing import formatting
from ticktree.profile import Profile
from ticktree.recorder import OFF_FOR_GOOD, OFF_VARIABLE
from ticktree.run.facts import describe_program
from ticktree.session import current
from ticktree.testing import SECTION

# A program records with one recorder: whose record would it be, were there two at once?
_busy = threading.Lock()
_SOURCE = "ticktree_check:"
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")


@contextmanager
def recording(keep: Callable[[Profile], None]) -> Iterator[None]:
    """Record with the program's own recorder, from nothing; afterwards it is on or off as before.

    Args:
        keep: Gets what was recorded.
    """
    if OFF_FOR_GOOD:
        raise TicktreeError(f"ticktree is off for good here ({OFF_VARIABLE}): nothing can be checked")
    if current.armed:
        raise TicktreeError("this process is recorded by ticktree run, whose record a check would clear")
    if not _busy.acquire(blocking=False):
        raise TicktreeError("another check is in progress: they do not nest, and a process has one at a time")
    try:
        was_recording = current.recorder.recording
        current.begin_afresh()
        try:
            yield
        finally:
            keep(current.snapshot())
            if not was_recording:
                current.disable()
    finally:
        _busy.release()


class Check:
    """Called with budgets, it records and checks what runs in its `with` block."""

    def __init__(self, test: pytest.Item) -> None:
        self._test = test
        self._config = test.config
        self._count = 0

    def __call__(self, budgets: Mapping[str, Any] | None = None) -> Checking:
        """Return what records and checks these budgets, written as in [tool.ticktree.budgets], or the project's."""
        __tracebackhide__ = True
        self._count += 1
        plan, keep = self._with_baseline(self._plan(budgets)), self._file("save")
        if plan.is_empty and keep is None:
            raise BudgetError(f"{_SOURCE} there is no budget, here or in [tool.ticktree.budgets]")
        return Checking(self._test, plan, keep)

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
        """Where this check of this test is kept, if the option names a directory."""
        folder: Path | None = self._config.getoption(f"ticktree_{option}")
        if folder is None:
            return None
        number = f"-{self._count}" if self._count > 1 else ""
        name = _NOT_IN_FILE_NAMES.sub("-", self._test.nodeid).strip("-")
        return self._config.invocation_params.dir / folder / f"{name}{number}.json"


class Checking(AbstractContextManager["Checking"]):
    """Records, from its beginning to its end, what the process does, and checks it.

    Attributes:
        profile: what was recorded, once it has ended.
        checked: what became of each budget, once it has ended well.
    """

    def __init__(self, test: pytest.Item, plan: Plan, keep: Path | None) -> None:
        self._test, self._plan, self._keep = test, plan, keep
        self._recording = recording(self._take)
        self.profile = Profile.empty()
        self.checked = Checked(())

    def __enter__(self) -> Self:
        """Begins to record."""
        __tracebackhide__ = True
        self._recording.__enter__()
        return self

    def _take(self, profile: Profile) -> None:
        self.profile = profile

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Stops recording, and raises an error about the budgets unless what ran has failed by itself."""
        __tracebackhide__ = True
        self._recording.__exit__(None, None, None)
        if self._keep or self._plan.baseline:
            facts = describe_program(["pytest", self._test.nodeid], self._test.config.rootpath)
            described = Profile(metadata={key: frozenset([value]) for key, value in facts.items()})
            self.profile = self.profile.merge(described)  # what must be known to compare it with another
        if error is not None:
            if isinstance(error, Exception):
                self._show()
            return
        self._save()
        self._check()

    def _check(self) -> None:
        __tracebackhide__ = True
        base = load_repeats([Path(self._plan.baseline)]) if self._plan.baseline else []
        try:
            apart = differences(base, [self.profile]) if base else []
            _refuse_unlike(apart, self._plan.allow_different)
            self.checked = check([self.profile], self._plan, base)
        except TicktreeError:
            self._show()
            raise
        bad = self.checked.of("fail") + self.checked.of("not measured")
        if bad or self._test.config.get_verbosity() > 0:
            self._show(apart)
        if bad:
            lines = [f"{formatting.verdict(result.status)}: {line(result)}" for result in bad]
            raise AssertionError("\n  ".join([verdict(self.checked), *lines]))

    def _show(self, apart: Sequence[Difference] = ()) -> None:
        """Puts the budgets and the tree where pytest shows what a test printed."""
        view = ViewOptions()
        pieces = [OUTPUTS["terminal"].render(self.profile, view)]
        if self.checked.results:
            pieces.insert(0, CHECKS["terminal"](self.checked, apart, view))
        self._test.add_report_section("call", SECTION, b"\n".join(pieces).decode())

    def _save(self) -> None:
        if self._keep is None:
            return
        try:
            self._keep.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._keep, self.profile.to_json().encode())
        except OSError as error:
            raise TicktreeError(f"cannot write {self._keep}: {error.strerror}") from None


def _with_folder(plan: Plan, folder: Path) -> Plan:
    """A plan whose baseline, if it is a relative path, lies in `folder`."""
    return replace(plan, baseline=str(folder / plan.baseline)) if plan.baseline else plan


def _refuse_unlike(apart: Sequence[Difference], allowed: bool) -> None:
    grounds = [difference for difference in apart if difference.is_ground]
    if grounds and not allowed:
        differences = ", ".join(f"{fact.key}: {fact.base or '-'} -> {fact.new or '-'}" for fact in grounds)
        raise TicktreeError(
            f"the baseline differs in more than the program ({differences}); allow_different = true compares it anyway"
        )

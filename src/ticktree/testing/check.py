"""The value of the fixture: a check, called with budgets and used as a context manager."""

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

from ticktree.analysis.budgets.check import CheckReport, check
from ticktree.analysis.budgets.measures import BudgetError
from ticktree.analysis.budgets.plan import Plan, plan_of
from ticktree.analysis.comparison.differences import Difference, differences
from ticktree.configuration import budgets, configuration
from ticktree.errors import TicktreeError
from ticktree.files.atomic import write_atomically
from ticktree.loading import load_repeats
from ticktree.outputs import OUTPUTS, ViewOptions
from ticktree.outputs.budgets import CHECKS, result_line, verdict
from ticktree.outputs.writing import formatting
from ticktree.profile import Profile
from ticktree.recorder import IS_OFF, OFF_VARIABLE
from ticktree.run.facts import describe_program
from ticktree.session import current
from ticktree.testing import SECTION

# A program has one recorder, so that only one check can use it at a time.
_recording_lock = threading.Lock()
_SOURCE = "ticktree_check:"
_INVALID_IN_FILE_NAMES = re.compile(r"[^\w.-]+")


@contextmanager
def recording(receive: Callable[[Profile], None]) -> Iterator[None]:
    """Record with the program's recorder, from an empty state; afterwards it is enabled or disabled as before.

    Args:
        receive: Called with the recorded profile.
    """
    if IS_OFF:
        raise TicktreeError(f"ticktree is off for good here ({OFF_VARIABLE}): nothing can be checked")
    if current.armed:
        raise TicktreeError("this process is recorded by ticktree run, whose record a check would clear")
    if not _recording_lock.acquire(blocking=False):
        raise TicktreeError("another check is in progress: they do not nest, and a process has one at a time")
    try:
        was_recording = current.recorder.recording
        current.begin_afresh()
        try:
            yield
        finally:
            receive(current.snapshot())
            if not was_recording:
                current.disable()
    finally:
        _recording_lock.release()


class Check:
    """Callable with budgets; the result records its `with` block and checks the budgets."""

    def __init__(self, test: pytest.Item) -> None:
        self._test = test
        self._config = test.config
        self._count = 0

    def __call__(self, budgets: Mapping[str, Any] | None = None) -> Checking:
        """Return a context manager for these budgets, written as in [tool.ticktree.budgets], or the project's."""
        __tracebackhide__ = True
        self._count += 1
        plan, save_path = self._with_baseline(self._plan(budgets)), self._option_path("save")
        if plan.is_empty and save_path is None:
            raise BudgetError(f"{_SOURCE} there is no budget, here or in [tool.ticktree.budgets]")
        return Checking(self._test, plan, save_path)

    def _plan(self, budgets_given: Mapping[str, Any] | None) -> Plan:
        if budgets_given is not None:
            return _resolve_baseline(plan_of(budgets_given, _SOURCE), self._config.rootpath)
        config = configuration(self._config.rootpath)
        return _resolve_baseline(
            budgets(config), config.path.parent if config.path else self._config.rootpath
        )

    def _with_baseline(self, plan: Plan) -> Plan:
        path = self._option_path("baseline")
        if path is None:
            return plan
        if path.exists():
            return replace(plan, baseline=str(path))
        warnings.warn(pytest.PytestWarning(f"ticktree_check: no baseline {path}"), stacklevel=3)
        return plan

    def _option_path(self, option: str) -> Path | None:
        """Return the file of this check of this test, if the option is a directory."""
        folder: Path | None = self._config.getoption(f"ticktree_{option}")
        if folder is None:
            return None
        number = f"-{self._count}" if self._count > 1 else ""
        name = _INVALID_IN_FILE_NAMES.sub("-", self._test.nodeid).strip("-")
        return self._config.invocation_params.dir / folder / f"{name}{number}.json"


class Checking(AbstractContextManager["Checking"]):
    """Records the process during its `with` block, and checks the budgets.

    Attributes:
        profile: the recorded profile, after the block.
        checked: the result of each budget, after the block succeeded.
    """

    def __init__(self, test: pytest.Item, plan: Plan, save_path: Path | None) -> None:
        self._test, self._plan, self._save_path = test, plan, save_path
        self._recording = recording(self._set_profile)
        self.profile = Profile.empty()
        self.checked = CheckReport(())

    def __enter__(self) -> Self:
        """Start to record."""
        __tracebackhide__ = True
        self._recording.__enter__()
        return self

    def _set_profile(self, profile: Profile) -> None:
        self.profile = profile

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Stop to record, and raise an error about the budgets unless the block itself failed."""
        __tracebackhide__ = True
        self._recording.__exit__(None, None, None)
        if self._save_path or self._plan.baseline:
            facts = describe_program(["pytest", self._test.nodeid], self._test.config.rootpath)
            description = Profile(metadata={key: frozenset([value]) for key, value in facts.items()})
            self.profile = self.profile.merge(description)  # needed to compare it with another profile
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
            found_differences = differences(base, [self.profile]) if base else []
            _reject_differences(found_differences, self._plan.allow_different)
            self.checked = check([self.profile], self._plan, base)
        except TicktreeError:
            self._show()
            raise
        failures = self.checked.of("fail") + self.checked.of("not measured")
        if failures or self._test.config.get_verbosity() > 0:
            self._show(found_differences)
        if failures:
            lines = [f"{formatting.verdict(result.status)}: {result_line(result)}" for result in failures]
            raise AssertionError("\n  ".join([verdict(self.checked), *lines]))

    def _show(self, differences: Sequence[Difference] = ()) -> None:
        """Add the budgets and the tree to pytest's report of the test."""
        view = ViewOptions()
        pieces = [OUTPUTS["terminal"].render(self.profile, view)]
        if self.checked.results:
            pieces.insert(0, CHECKS["terminal"](self.checked, differences, view))
        self._test.add_report_section("call", SECTION, b"\n".join(pieces).decode())

    def _save(self) -> None:
        if self._save_path is None:
            return
        try:
            self._save_path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._save_path, self.profile.to_json().encode())
        except OSError as error:
            raise TicktreeError(f"cannot write {self._save_path}: {error.strerror}") from None


def _resolve_baseline(plan: Plan, folder: Path) -> Plan:
    """Return the plan with a baseline relative to `folder`."""
    return replace(plan, baseline=str(folder / plan.baseline)) if plan.baseline else plan


def _reject_differences(differences: Sequence[Difference], is_allowed: bool) -> None:
    unlike = [difference for difference in differences if difference.is_ground]
    if unlike and not is_allowed:
        text = ", ".join(f"{fact.key}: {fact.base or '-'} -> {fact.new or '-'}" for fact in unlike)
        raise TicktreeError(
            f"the baseline differs in more than the program ({text}); allow_different = true compares it anyway"
        )

"""What is doubtful about a run's numbers, what was not recorded, and how long the run took to start up."""

from __future__ import annotations

from collections.abc import Sequence

from ticktree.analysis import Finding
from ticktree.analysis.survey import Survey
from ticktree.outputs.findings import evidence
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.view.headline import losses
from ticktree.outputs.view.model import Warned
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.visible import visible
from ticktree.profile import Profile

WARNINGS_SHOWN = 3


def warnings(profile: Profile, found: Sequence[Finding], options: ViewOptions) -> list[Warned]:
    """Return what makes the numbers doubtful, the worst first, and what was not recorded."""
    doubts = [finding for finding in found if is_doubt(finding)]
    if not options.all:
        doubts = [each for each in doubts if each.severity != "info" or each.is_wrong_number][:WARNINGS_SHOWN]
    lost = losses(profile)
    return [
        *(Warned(each.message, each.rule, evidence(each)) for each in doubts),
        *([Warned(", ".join(lost))] if lost else []),
    ]


def is_doubt(finding: Finding) -> bool:
    """Tell whether a finding is about the measurement, and nothing to do about the program."""
    return finding.kind == "measurement" or finding.is_wrong_number


def startup(seen: Survey) -> str:
    """Return how long it took until the first tick of the loop that the report leads with; "" where not known."""
    starts = [value for value in seen.profile.metadata.get("started_ns", ()) if isinstance(value, int)]
    views = [view for view in seen.main_loops if view.loop is not None]
    first = views[0].loop.first_ticks if views and views[0].loop else None
    if len(starts) != 1 or first is None or first.started_wall_ns <= starts[0]:
        return ""
    took_ns = first.started_wall_ns - starts[0]
    return f"start-up {formatting.time(took_ns)} until the first tick of {visible(views[0].name)}"

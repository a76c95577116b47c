"""What is published beside the profile: who took part, what was left out, and how fresh it all is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ticktree.analysis.workers.roles import roles
from ticktree.publishing.looks import Look


@dataclass(frozen=True, slots=True)
class Number:
    """A metric that is not of the profile.

    Attributes:
        name: with dots, after the prefix that all have.
        unit: as OpenTelemetry writes it; "ns" for times, which Prometheus gets in seconds.
        kind: a sum that only grows, or a value.
        about: what it is, in a few words.
        label: what the values' keys are; "" of a metric with one value.
        values: by key.
    """

    name: str
    unit: str
    kind: Literal["sum", "value"]
    about: str
    label: str
    values: Mapping[str, int]


def numbers(look: Look) -> list[Number]:
    """Return them as they are at the time of a look."""
    count = {role.name: role.count for role in roles(look.profile, "process")}
    return [
        Number("processes", "{process}", "sum", "Processes that took part so far.", "role", count),
        Number("read.time", "ns", "value", "When the run was read, since 1970.", "", {"": look.at_ns}),
        Number(
            "sections.left_out",
            "{section}",
            "value",
            "Sections that are not told of, as there are too many.",
            "",
            {"": look.left_out},
        ),
        Number(
            "left_out.own",
            "ns",
            "sum",
            "Own time of sections that are not told of.",
            "",
            {"": look.left_out_self_ns},
        ),
    ]

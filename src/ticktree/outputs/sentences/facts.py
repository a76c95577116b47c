"""The facts of findings as text, and as numbers with units."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ticktree.analysis.finding import Finding
from ticktree.outputs.writing import formatting
from ticktree.profile import path as paths
from ticktree.profile.short_names import ShortNames


class FactText:
    """The facts of a finding, formatted for people."""

    def __init__(self, finding: Finding, names: ShortNames) -> None:
        self.finding = finding
        self._facts = finding.facts
        self._names = names

    def __contains__(self, key: str) -> bool:
        return key in self._facts

    def __getitem__(self, key: str) -> str:
        """Return a word unchanged, the last name of a path, or a number with its unit."""
        value = self._facts[key]
        if isinstance(value, str):
            return self._name(value) if key.endswith(_PATHS) else value
        return formatted(key, value)

    def number(self, key: str) -> float:
        """Return a number; 0 if there is none."""
        value = self._facts.get(key, 0)
        return 0 if isinstance(value, str) else value

    def path(self, key: str) -> str:
        """Return a path or a word unchanged; "" if there is none."""
        return str(self._facts.get(key, ""))

    @property
    def loop(self) -> str:
        """The name of the loop that would gain, else of the node that the finding is about."""
        return self._name(self.finding.loop or self.finding.path)

    @property
    def tick(self) -> str:
        """The whole that shares refer to: a tick of the loop, or the run."""
        return f"a tick of {self.loop}" if self.finding.loop else "the run"

    @property
    def name(self) -> str:
        """The name of the node that the finding is about."""
        return self._name(self.finding.path)

    def _name(self, path: str) -> str:
        return self._names.of(paths.name_of(path)) or "no section"


# Keys with these endings hold paths of nodes.
_PATHS = ("section", "parent", "loop", "_in")
_UNITS: Mapping[str, Callable[[float], str]] = {
    "_ns": formatting.time,
    "_bytes": formatting.size,
    "_bytes_per_s": lambda rate: formatting.scaled(rate, "B/s"),
    "_flops": lambda amount: formatting.scaled(amount, "FLOP"),
    "_flops_per_s": lambda rate: formatting.scaled(rate, "FLOP/s"),
    "_share": lambda part: f"{100 * part:.0f}%" if part >= 0.0095 else f"{100 * part:.1f}%",
    "_factor": lambda factor: f"{factor:.1f}×" if factor < 9.95 else f"{factor:,.0f}×",
}


def formatted(key: str, value: float) -> str:
    """Return the number of a fact with its unit, which the end of its key names."""
    unit = next((unit for ending, unit in _UNITS.items() if key.endswith(ending)), None)
    return unit(value) if unit is not None else formatting.reading(value)


def unit_of(key: str) -> str:
    """Return the unit that the end of a fact's key names; "" for a count."""
    ending = next((ending for ending in _UNITS if key.endswith(ending)), "")
    return ending.removeprefix("_")


def finding_fields(finding: Finding) -> dict[str, object]:
    """Return a finding as `report --format json` writes it."""
    return {
        **{name: getattr(finding, name) for name in ("rule", "kind", "severity", "path", "loop", "message")},
        "saving": None if finding.saving is None else finding.saving.to_dict(),
        "metrics": [
            {"key": key.removesuffix(f"_{unit_of(key)}"), "value": value, "unit": unit_of(key)}
            for key, value in finding.facts.items()
            if not isinstance(value, (str, bool))
        ],
    }

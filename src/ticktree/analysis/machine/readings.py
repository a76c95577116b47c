"""Machine: what is known of the machine that a run had, as rules and views ask for it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ticktree.profile import Gauge, Profile
from ticktree.profile import machine as names

Of: TypeAlias = Literal["used", "others", "steal", "waiting", "frequency", "throttled"]

_GAUGES: dict[Of, str] = {
    "used": names.USED,
    "others": names.OTHERS,
    "steal": names.STEAL,
    "waiting": names.WAITING,
    "frequency": names.FREQUENCY,
    "throttled": names.THROTTLED,
}


class Machine:
    """The readings of a machine while a profile's run went on; absent where nobody took any.

    Several runs that were merged have had one machine only if all of them say so.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    @property
    def cores(self) -> int | float | None:
        """How many cores the run may use."""
        usable = self._profile.metadata.get("cores_usable") or self._profile.metadata.get(
            "cores", frozenset()
        )
        known = [value for value in usable if isinstance(value, (int, float)) and not isinstance(value, bool)]
        return known[0] if len(known) == 1 and len(usable) == 1 and known[0] > 0 else None

    @property
    def is_one(self) -> bool:
        """Whether all readings are of the same machine."""
        return len(self._profile.metadata.get("host", ())) <= 1

    def gauge(self, of: Of) -> Gauge | None:
        """The readings of one thing."""
        return self._profile.gauges.get(_GAUGES[of])

    def typical(self, of: Of) -> float | None:
        """Its median reading."""
        return self.at(of, 0.5)

    def at(self, of: Of, quantile: float) -> float | None:
        """The reading that so large a share of the readings did not exceed."""
        gauge = self.gauge(of)
        return None if gauge is None else gauge.quantile(quantile)

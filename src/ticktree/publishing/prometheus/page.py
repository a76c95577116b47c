"""The page: a look at a run in one of the formats that Prometheus reads."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable, Iterator

from ticktree.outputs.prometheus.families import Family, Samples, families
from ticktree.outputs.prometheus.histograms import Durations
from ticktree.outputs.prometheus.protobuf import CONTENT_TYPE as PROTOBUF_TYPE
from ticktree.outputs.prometheus.protobuf import protobuf
from ticktree.outputs.prometheus.seconds import seconds
from ticktree.outputs.prometheus.text import text
from ticktree.outputs.view.headline import title
from ticktree.outputs.writing.literal import literal
from ticktree.publishing.about import numbers
from ticktree.publishing.looks import Look, Looks
from ticktree.publishing.ratchet import Ratchet

TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# That a loop's sums begin anew when its warm-up ends is true of them.
_FALL = ("loop_",)


class Page:
    """What is served: the newest look, written once for all who ask before there is a newer one.

    Args:
        looks: where looks come from.
        run_id: what tells the run from every other.
        cost: seconds of processor time that the calling thread has used.
    """

    def __init__(self, looks: Looks, run_id: str, cost: Callable[[], float] = time.thread_time) -> None:
        self._looks = looks
        self._run_id = run_id
        self._cost = cost
        self._lock = threading.Lock()
        self._ratchet = Ratchet()
        self._written_of: Look | None = None
        self._written: dict[str, bytes] = {}

    def written(self, accepted: str) -> tuple[str, bytes]:
        """Return the page's type and content.

        Args:
            accepted: the types that the reader can read, as HTTP's Accept has them.
        """
        kind = PROTOBUF_TYPE if _takes_protobuf(accepted) else TEXT_TYPE
        look = self._looks.latest()
        if look is None:
            return kind, b""
        with self._lock:
            before_s = self._cost()
            if look is not self._written_of:
                self._written_of, self._written = look, {}
            if kind not in self._written:
                write = protobuf if kind == PROTOBUF_TYPE else text
                self._written[kind] = write([*self._families(look)])
            self._looks.charge(self._cost() - before_s)
            return kind, self._written[kind]

    def _families(self, look: Look) -> Iterator[Family | Durations]:
        self._ratchet.begin(look.era)
        yield self._info(look)
        for family in (*families(look.profile, look.paths), *_beside(look)):
            falls = family.kind != "counter" or family.name.startswith(_FALL)
            yield family if isinstance(family, Durations) or falls else self._held(family)

    def _held(self, family: Family) -> Family:
        held: Samples = [
            (labels, self._ratchet.held((family.name, *labels.values()), value))
            for labels, value in family.samples
        ]
        return Family(family.name, family.kind, family.about, held)

    def _info(self, look: Look) -> Family:
        labels = {
            "run": literal(self._run_id),
            "name": literal(title(look.profile)),
            "host": literal(platform.node()),
        }
        return Family("run_info", "gauge", "Which run this is; always 1.", [(labels, 1)])


def _beside(look: Look) -> Iterator[Family]:
    for number in numbers(look):
        is_time, is_sum = number.unit == "ns", number.kind == "sum"
        name = number.name.replace(".", "_") + "_seconds" * is_time + "_total" * is_sum
        samples: Samples = [
            ({number.label: literal(key)} if number.label else {}, seconds(value) if is_time else value)
            for key, value in number.values.items()
        ]
        yield Family(name, "counter" if is_sum else "gauge", number.about, samples)


def _takes_protobuf(accepted: str) -> bool:
    """Whether it is what the reader would like best: Prometheus asks for it where it keeps native histograms."""
    best, quality = "", 0.0
    for one in accepted.lower().split(","):
        name, *parameters = (part.strip() for part in one.split(";"))
        asked = dict(parameter.partition("=")[::2] for parameter in parameters)
        is_known = name == "application/vnd.google.protobuf" and (
            asked.get("proto"),
            asked.get("encoding"),
        ) == ("io.prometheus.client.metricfamily", "delimited")
        try:
            wanted = float(asked.get("q") or 1)
        except ValueError:
            continue
        if wanted > quality and (is_known or name in ("text/plain", "text/*", "*/*")):
            best, quality = name, wanted
    return best == "application/vnd.google.protobuf"

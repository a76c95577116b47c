"""The gauges of one memory file."""

from __future__ import annotations

from ticktree.profile import Gauge, Histogram
from ticktree.run.reading import layout
from ticktree.run.reading.image import Image

_OCTAVES_OF_FLOATS = range(-1074, 1024)


def gauges_of(image: Image) -> list[Gauge]:
    """Every gauge that has a reading.

    Raises:
        DamagedError: One says what cannot be.
    """
    return [_gauge(image, ref, record) for ref, record in image.gauges() if record.count]


def _gauge(image: Image, ref: int, record: layout.Record) -> Gauge:
    positive, negative = _buckets(image, record, 1), _buckets(image, record, -1)
    count, low, high = record.count, record.minimum, record.maximum
    if record.sequence % 2 or ref in image.unsettled:  # parts of one reading may be there and others not
        count = max(count, positive.count + negative.count + record.zeros)
        low, high = min(low, record.last), max(high, record.last)
    return Gauge(
        name=image.text(record.name),
        last=record.last,
        last_wall_ns=record.last_wall_ns,
        writer=str(image.writer),
        count=count,
        min=low,
        max=high,
        positive=positive,
        negative=negative,
        zeros=record.zeros,
    )


def _buckets(image: Image, record: layout.Record, sign: int) -> Histogram:
    buckets: dict[int, int] = {}
    for octave in record.octaves[: record.octave_count]:
        if octave.sign not in (1, -1) or octave.octave not in _OCTAVES_OF_FLOATS:
            raise image.damaged("a gauge's values are none that there are")
        if octave.sign == sign:
            first = octave.octave * layout.SUB_BUCKETS
            counts = enumerate(image.octave(octave.counts))
            buckets.update({first + sub: count for sub, count in counts if count})
    return Histogram(buckets)

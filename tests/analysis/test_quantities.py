from __future__ import annotations

import pytest

from ticktree.analysis.quantities import duration_ns, fraction, rate_hz, size_bytes


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        *(("25 ms", 25_000_000), ("25ms", 25_000_000), (" 1.5 s ", 1_500_000_000), (".5 s", 500_000_000)),
        *(("3 µs", 3000), ("3 µs", 3000), ("7 ns", 7), ("1e3 µs", 1_000_000)),
        *(("2 min", 120_000_000_000), ("1 h", 3_600_000_000_000)),
    ],
)
def test_times(text, ns):
    assert duration_ns(text) == ns


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("100 MB", 100_000_000),
        ("1 GiB", 2**30),
        ("64 KiB", 65536),
        ("12 kB", 12_000),
        ("5 B", 5),
        ("1_000 B", 1000),
    ],
)
def test_amounts_of_memory(text, size):
    assert size_bytes(text) == size


@pytest.mark.parametrize(("text", "hz"), [("30 Hz", 30), ("0.5 Hz", 0.5), ("1 kHz", 1000)])
def test_rates(text, hz):
    assert rate_hz(text) == hz


@pytest.mark.parametrize(
    ("value", "of_one"), [("5%", 0.05), ("5 %", 0.05), (0.05, 0.05), (1, 1), ("0.3", 0.3), ("150%", 1.5)]
)
def test_parts(value, of_one):
    assert fraction(value) == pytest.approx(of_one)


@pytest.mark.parametrize(
    "value", ["", "ms", "5", 5, 5.0, "-5 ms", "5 m", "5 MS", "1e999 s", None, True, [], "5 ms 3", "nan s"]
)
def test_what_is_no_time_is_refused_and_says_what_one_is(value):
    with pytest.raises(ValueError, match='should be a time such as "25 ms", not '):
        duration_ns(value)


@pytest.mark.parametrize("value", [True, "5 ms", -1, float("nan"), float("inf"), "%", None])
def test_what_is_no_part_is_refused(value):
    with pytest.raises(ValueError, match="should be a share"):
        fraction(value)

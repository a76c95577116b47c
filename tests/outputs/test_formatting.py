from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticktree.outputs.writing import formatting

US, MS, S = 10**3, 10**6, 10**9


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (0, "0 ns"),
        (7, "7 ns"),
        (0.25, "0.250 ns"),
        (999, "999 ns"),
        (1000, "1.00 µs"),
        (16_149_000, "16.1 ms"),
        (431 * MS, "431 ms"),
        (999_499 * US, "999 ms"),
        (999_500 * US, "1.00 s"),
        (2_364 * MS, "2.36 s"),
        (9_995 * MS, "10.0 s"),
        (999 * S, "999 s"),
        (1000 * S, "16.7 min"),
        (6000 * S, "1.67 h"),
        (360_000 * S, "4.17 d"),
        (-5 * US, "-5.00 µs"),
    ],
)
def test_a_time_has_three_digits_and_the_unit_that_fits(ns, text):
    assert formatting.time(ns) == text


@given(st.integers(1, 86_400 * 999 * S))
def test_no_time_is_written_more_than_half_a_percent_wrong(ns):
    number, unit = formatting.time(ns).split(" ")
    units = {"ns": 1, "µs": US, "ms": MS, "s": S, "min": 60 * S, "h": 3600 * S, "d": 86_400 * S}
    assert float(number) * units[unit] == pytest.approx(ns, rel=0.0051)
    assert len(number.replace(".", "")) <= 4


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (None, "-"),
        (0, "0%"),
        (0.0000001, "0%"),
        (0.000004, "0.00%"),
        (0.0004, "0.04%"),
        (0.0011, "0.1%"),
        (0.011, "1.1%"),
        (0.0996, "10%"),
        (0.984, "98%"),
        (1, "100%"),
        (3.5, "350%"),
        (157_703_832_203, "1.577e+13%"),
    ],
)
def test_a_share_is_a_percentage_as_exact_as_it_is_small(part, text):
    assert formatting.share(part) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(None, "-"), (0, "0"), (12_345, "12,345"), (9_999_999, "9,999,999"), (12_345_678, "12.3 M")],
)
def test_a_count_is_exact_up_to_ten_million(number, text):
    assert formatting.count(number) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (999.6, "1.00 kB"),
        (75_500_000, "75.5 MB"),
        (-3e6, "-3.00 MB"),
        (1e30, "1000000 YB"),
    ],
)
def test_sizes_have_decimal_prefixes(amount, text):
    assert formatting.size(amount) == text


def test_a_rate_is_an_amount_per_second():
    assert formatting.rate(75_500_000, 16_100_000, "B") == "4.69 GB/s"
    assert formatting.rate(1, 0, "B") == "-"


@pytest.mark.parametrize(
    ("hz", "text"), [(None, "-"), (30, "30 Hz"), (99.84, "99.8 Hz"), (0.4237, "0.424 Hz"), (2500, "2.50 kHz")]
)
def test_frequencies_are_in_hertz(hz, text):
    assert formatting.hertz(hz) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (3.0, "3"),
        (-1200, "-1,200"),
        (0.12345, "0.1235"),
        (1e12, "1e+12"),
        (2.5e-9, "2.5e-09"),
        (171_234.5, "171,234"),
    ],
)
def test_a_reading_is_written_without_a_unit(value, text):
    assert formatting.reading(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_reading_is_short(value):
    assert re.fullmatch(r"-?[\d,.]+(e[+-]\d+)?", formatting.reading(value))
    assert len(formatting.reading(value)) <= 11


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (0, "exit status 0"),
        (3, "exit status 3"),
        (-2, "interrupted (SIGINT)"),
        (-9, "killed by SIGKILL"),
        (-99, "killed by signal 99"),
        (None, ""),
    ],
)
def test_an_exit_status_is_written_in_words(status, text):
    assert formatting.ending(status) == text


@pytest.mark.parametrize(
    ("number", "model", "text"),
    [
        ("", "", ""),
        ("1", "", "1 GPU"),
        ("8", "", "8 GPUs"),
        ("1", "NVIDIA H200", "NVIDIA H200"),
        ("8", "NVIDIA H200", "8 × NVIDIA H200"),
    ],
)
def test_gpus_have_names_if_their_model_is_known(number, model, text):
    assert formatting.gpu_names(number, model) == text


@pytest.mark.parametrize(
    ("phrase", "one"),
    [
        ("modules not instrumented", "1 module not instrumented"),
        ("processes without room", "1 process without room"),
        ("device times not known", "1 device time not known"),
        ("unwound", "1 unwound"),
    ],
)
def test_a_phrase_is_singular_for_1(phrase, one):
    assert formatting.counted_phrase(1, phrase) == one
    assert formatting.counted_phrase(2, phrase) == f"2 {phrase}"

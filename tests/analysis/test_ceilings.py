from __future__ import annotations

from ticktree.analysis.ceilings import Ceilings, ceilings
from ticktree.profile import Profile


def having(**facts) -> Profile:
    every = {key.replace("__", "."): frozenset(values) for key, values in facts.items()}
    return Profile(metadata=every)


def test_a_run_that_carries_none_has_none():
    assert ceilings(Profile.empty()) is None
    assert ceilings(having(cores=[8])) is None


def test_ceilings_are_those_that_the_run_carries():
    run = having(
        ceiling__source=["measured"],
        ceiling__memcpy_bytes_per_s=[10_200_000_000],
        ceiling__cache_copy_bytes_per_s=[60_000_000_000],
        ceiling__cache_bytes=[32 << 20],
        ceiling__flops_per_s_thread=[98e9],
        ceiling__flops_per_s=[187e9],
        ceiling__low_precision_factor=[2],
        ceiling__clock_read_ns=[41.5],
        cores=[8],
        cores_usable=[2],
        gpus=[1],
    )
    assert ceilings(run) == Ceilings(
        memcpy_bytes_per_s=10.2e9,
        cache_copy_bytes_per_s=60e9,
        cache_bytes=32 << 20,
        flops_per_s_thread=98e9,
        flops_per_s=187e9,
        is_measured=True,
        low_precision_factor=2,
        cores=2,
        gpus=1,
        clock_read_ns=41.5,
    )


def test_of_several_machines_the_fastest_counts_and_measured_is_only_what_all_measured():
    here = ceilings(having(ceiling__flops_per_s=[1e11, 3e11], ceiling__source=["measured", "reckoned"]))
    assert here is not None
    assert (here.flops_per_s, here.is_measured) == (3e11, False)


def test_what_is_no_positive_number_is_not_known():
    here = ceilings(having(ceiling__flops_per_s=["fast", True, -1.0, 0], ceiling__memcpy_bytes_per_s=[5e9]))
    assert here is not None
    assert (here.flops_per_s, here.memcpy_bytes_per_s) == (None, 5e9)

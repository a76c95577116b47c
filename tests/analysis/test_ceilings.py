from __future__ import annotations

import pytest

from ticktree.analysis.machine import Ceilings, fastest_machine, slowest_machine
from ticktree.profile import Profile


def having(**facts) -> Profile:
    every = {key.replace("__", "."): frozenset(values) for key, values in facts.items()}
    return Profile(metadata=every)


def test_a_run_without_ceilings_has_none():
    for machine in (fastest_machine, slowest_machine):
        assert machine(Profile.empty()) is None
        assert machine(having(cores=[8])) is None


def test_ceilings_are_read_from_the_run():
    run = having(
        ceiling__source=["measured"],
        ceiling__memcpy_bytes_per_s=[10_200_000_000],
        ceiling__cache_copy_bytes_per_s=[60_000_000_000],
        ceiling__cache_bytes=[32 << 20],
        ceiling__flops_per_s_thread=[98e9],
        ceiling__flops_per_s=[187e9],
        ceiling__low_precision_factor=[2],
        cores=[8],
        cores_usable=[2],
        gpus=[1],
    )
    expected = Ceilings(
        memcpy_bytes_per_s=10.2e9,
        cache_copy_bytes_per_s=60e9,
        cache_bytes=32 << 20,
        flops_per_s_thread=98e9,
        flops_per_s=187e9,
        is_measured=True,
        low_precision_factor=2,
        cores=2,
        gpus=1,
    )
    assert fastest_machine(run) == slowest_machine(run) == expected


def test_of_several_machines_there_is_a_fastest_and_a_slowest():
    several = having(
        ceiling__memcpy_bytes_per_s=[5e9, 20e9],
        ceiling__flops_per_s=[3e11, 1e11],
        cores_usable=[2, 16],
    )
    fastest, slowest = fastest_machine(several), slowest_machine(several)
    assert fastest == Ceilings(memcpy_bytes_per_s=20e9, flops_per_s=3e11, cores=16)
    assert slowest == Ceilings(memcpy_bytes_per_s=5e9, flops_per_s=1e11, cores=2)


@pytest.mark.parametrize("machine", [fastest_machine, slowest_machine])
def test_measured_is_only_what_all_measured_and_a_gpu_anywhere_is_one(machine):
    both = having(ceiling__flops_per_s=[1e11, 3e11], ceiling__source=["measured", "reckoned"], gpus=[0, 1])
    assert not machine(both).is_measured
    assert machine(both).gpus == 1


def test_values_that_are_not_positive_numbers_are_unknown():
    here = fastest_machine(
        having(ceiling__flops_per_s=["fast", True, -1.0, 0], ceiling__memcpy_bytes_per_s=[5e9])
    )
    assert here is not None
    assert (here.flops_per_s, here.memcpy_bytes_per_s) == (None, 5e9)

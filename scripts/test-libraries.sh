#!/usr/bin/env bash
# The tests of instruments that `make test` does not run, each set in its own venv: those with the oldest versions of
# their libraries (tests/instruments/oldest.txt; `make test` has the newest), those with JAX, and those with frameworks that train.
# Arguments are pytest's. ticktree is installed from build/wheel, where `make test-libraries` puts it.
#
#     scripts/test-libraries.sh --lock    writes the locks of these environments
set -euo pipefail
cd "$(dirname "$0")/.."

python=$(command -v python3.11 || command -v python3)

# Makes .venv-NAME as locks/venv-NAME.txt says, with what pip is to install, up to `--`, and runs the rest as tests there.
tests_in() {
    local name=$1 venv=.venv-$1 lock=locks/venv-$1.txt needed=(--group test)
    shift
    while [ "$1" != -- ]; do needed+=("$1") && shift; done
    shift
    if [ -n "$writes" ]; then
        "$python" scripts/locked.py "$lock" write --no-build-isolation . "${needed[@]}"
        return
    fi
    [ "$venv/.made" -nt "$lock" ] || { "$python" scripts/locked.py "$lock" create "$venv" && touch "$venv/.made"; }
    "$venv/bin/python" scripts/locked.py "$lock" install --no-compile build/wheel/*.whl "${needed[@]}"
    "$venv/bin/python" -m pytest -q "${options[@]}" "$@"
}

writes='' options=("$@")
[ "${1:-}" != --lock ] || writes=yes
# What RLlib imports besides Ray itself is not `ray[rllib]`, as in pyproject.toml.
tests_in oldest --constraint constraints.txt --requirement tests/instruments/oldest.txt \
    dm-tree lz4 ormsgpack pandas pyarrow pydantic tensorboardX -- \
    tests/instruments/test_{stable_baselines3,gymnasium,lightning,torchrl,instrument_losses}.py tests/fleet/test_ray.py
tests_in jax --group jax -- tests/instruments/test_jax.py
tests_in frameworks --constraint constraints.txt --group frameworks -- tests/instruments/test_frameworks.py

#!/usr/bin/env bash
# The tests of instruments with the oldest versions of their libraries (tests/instruments/oldest.txt), in a venv of its own;
# `make test` runs them with the newest. Arguments are pytest's.
#
#     scripts/test-libraries.sh --lock    writes the lock of this environment
set -euo pipefail
cd "$(dirname "$0")/.."

python=$(command -v python3.11 || command -v python3)
venv=.venv-oldest lock=locks/venv-oldest.txt
# What RLlib imports besides Ray itself is not `ray[rllib]`, as in pyproject.toml.
needed=(--no-build-isolation . --group test --constraint constraints.txt --requirement tests/instruments/oldest.txt
    dm-tree lz4 ormsgpack pandas pyarrow pydantic tensorboardX)
if [ "${1:-}" = --lock ]; then
    exec "$python" scripts/locked.py "$lock" write "${needed[@]}"
fi
[ "$venv/.made" -nt "$lock" ] || { "$python" scripts/locked.py "$lock" create "$venv" && touch "$venv/.made"; }
"$venv/bin/python" scripts/locked.py "$lock" install "${needed[@]}"
"$venv/bin/python" -m pytest -q "$@" tests/instruments/test_{stable_baselines3,gymnasium,lightning,torchrl,instrument_losses}.py \
    tests/fleet/test_ray.py

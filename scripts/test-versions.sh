#!/usr/bin/env bash
# The core's tests on every other Python that is here, each in a venv of its own; those missing are named. Its
# arguments are pytest's: `-n logical` runs as many tests at once as there are processors. With --lock alone it runs no
# test, and writes locks/venv-VERSION.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

# A name on the PATH may be a shim for a Python that is not selected: what counts is whether it runs.
find_python() {
    local candidate
    for candidate in "$(command -v "python$1")" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        if [ -x "$candidate" ] && "$candidate" -c 'import venv' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

# What depends on the interpreter: what records, how it starts and ends, and what reads it. The rest is plain Python.
core=(tests/recorder tests/run tests/profile tests/processes tests/endings tests/instrument tests/test_session.py
    tests/test_configuration.py)
absent=()
for version in 3.12 3.13; do
    python=$(find_python "$version" || true)
    if [ -z "$python" ]; then
        absent+=("$version")
        continue
    fi
    venv=.venv-$version lock=locks/venv-$version.txt
    if [ "${1:-}" = --lock ]; then
        "$python" scripts/locked.py "$lock" write --no-build-isolation . --group test
        continue
    fi
    [ "$venv/.made" -nt "$lock" ] || "$python" scripts/locked.py "$lock" create "$venv"
    touch "$venv/.made"
    "$venv/bin/python" scripts/locked.py "$lock" install --no-build-isolation . --group test
    echo "== Python $version"
    "$venv/bin/python" -m pytest -q "$@" -m "not slow" "${core[@]}"
done
[ ${#absent[@]} -eq 0 ] || echo "not here, so not tested: Python ${absent[*]}"

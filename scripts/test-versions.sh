#!/usr/bin/env bash
# The core's tests on every supported Python that `make test` does not run on, each in its own venv. Arguments are
# pytest's: `-n logical` runs as many tests at once as there are processors. Interpreters are the PATH's or pyenv's, else
# debian-python.sh gets them. One that cannot be had is named; with CI=true the script then fails.
#
#     scripts/test-versions.sh --lock          writes the locks of these environments
#     VERSIONS=3.14t scripts/test-versions.sh  other ones: a free-threaded Python is packaged nowhere, and takes minutes to
#                                              build, so that CI has none
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
    if scripts/debian-python.sh --has "$1"; then echo "scripts/debian-python.sh /usr/bin/python$1"; fi
}

# What depends on the interpreter: what reads its frames, what starts and ends processes, what wraps functions. The rest is
# plain Python. Between the oldest, on which `make test` runs, and the newest only what reads frames is tested.
frames=(tests/recorder tests/supervisor tests/session/test_session.py)
core=("${frames[@]}" tests/processes tests/endings tests/instruments tests/test_configuration.py)
needed=(--no-build-isolation --group test)

# Makes .venv-VERSION: builds run side by side, each in a copy of the sources, which keeps what it compiled.
make_venv() {
    local version=$1 python=$2 inside=$3 venv=.venv-$1 lock=locks/venv-$1.txt sources=build/python-$1
    [ "$venv/.made" -nt "$lock" ] || { $python scripts/locked.py "$lock" create "$venv" && touch "$venv/.made"; }
    mkdir -p "$sources"
    rm -rf "$sources/src"
    cp -a pyproject.toml setup.py README.md LICENSE src "$sources"
    $inside "$venv/bin/python" scripts/locked.py "$lock" install "./$sources" "${needed[@]}" >"$venv/install.log" 2>&1 ||
        { cat "$venv/install.log" >&2; return 1; }
}

absent=() present=() making=()
declare -A inside
for version in ${VERSIONS:-3.12 3.13 3.14 3.15}; do
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        absent+=("$version")
        continue
    fi
    if [ "${1:-}" = --lock ]; then
        $python scripts/locked.py "locks/venv-$version.txt" write . "${needed[@]}"
        continue
    fi
    inside[$version]=${python% *}
    [ "${inside[$version]}" != "$python" ] || inside[$version]=
    present+=("$version")
    make_venv "$version" "$python" "${inside[$version]}" &
    making+=($!)
done
for process in "${making[@]}"; do wait "$process"; done
for version in "${present[@]}"; do
    echo "== Python $version"
    case $version in
    "${present[-1]}") tests=("${core[@]}") ;;
    *) tests=("${frames[@]}") ;;
    esac
    ${inside[$version]} ".venv-$version/bin/python" -m pytest -q "$@" -m "not slow" "${tests[@]}"
done
[ ${#absent[@]} -eq 0 ] || echo "not here, so not tested: Python ${absent[*]}"
[ ${#absent[@]} -eq 0 ] || [ "${CI:-}" != true ]

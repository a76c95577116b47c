#!/usr/bin/env bash
# The programs that read what `ticktree export` writes and are no Python packages, into .readers: the tests of the
# exports look there, and report what they did not compare where one is missing. Nothing is installed on the system.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .readers
cd .readers

# Debian's: `go tool pprof`, `promtool`, and Prometheus itself. Unpacked only, so that no service is started.
debian() {
    command -v apt-get >/dev/null || return
    local go
    go=$(apt-cache depends golang-go | sed -n 's/.*Depends: \(golang-[0-9.]*-go\)$/\1/p' | head -1)
    apt-get download "$go" "${go%-go}-src" prometheus || return
    for package in *.deb; do
        dpkg -x "$package" debian || return
    done
    rm -f ./*.deb
}

# npm's: speedscope, and what it needs, at the versions of locks/readers.
npms() {
    command -v npm >/dev/null || return
    cp ../locks/readers/*.json . && npm ci --no-audit --no-fund --silent
}

debian || echo "not got from Debian, so not compared: pprof files with go's reader, prometheus files with promtool; and no run was read by a real Prometheus"
npms || echo "not got from npm, so not compared: speedscope files with its own importer"

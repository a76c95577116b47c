#!/usr/bin/env bash
# The programs that read what `ticktree export` writes and are no Python packages, into .readers: the tests of the
# exports look there, and say what they did not compare where one is missing. Nothing is installed on the system.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .readers
cd .readers

# Debian's: `go tool pprof` and `promtool`. Unpacked only, so that no service is started.
if command -v apt-get >/dev/null; then
    go=$(apt-cache depends golang-go | sed -n 's/.*Depends: \(golang-[0-9.]*-go\)$/\1/p' | head -1)
    apt-get download "$go" "${go%-go}-src" prometheus
    for package in *.deb; do
        dpkg -x "$package" debian
    done
    rm -f ./*.deb
else
    echo "no apt-get here: pprof and prometheus files will not be compared with go's and prometheus's own readers"
fi

# npm's: speedscope.
if command -v npm >/dev/null; then
    npm install --no-audit --no-fund --silent --prefix . speedscope@1.25.0
else
    echo "no npm here: speedscope files will not be compared with its own importer"
fi

#!/usr/bin/env bash
# Builds the front ends of the HTML pages and puts them where the package has them; with --check, says whether they are
# the same.
# Needs Node 20 or later and npm. Who installs ticktree needs neither: the built page is committed.
set -euo pipefail
cd "$(dirname "$0")/../report-ui"
pages=../src/ticktree/outputs/html
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm ci --no-audit --no-fund --loglevel=error
    touch node_modules/.package-lock.json
fi
npm run --silent check
npm run --silent test
rm -rf dist
for page in run:page runs:runs; do
    npx --no-install vite build --logLevel warn --mode "${page%:*}"
    built=dist/${page%:*}/index.html kept=$pages/${page#*:}.html
    if [ "${1:-}" = --check ]; then
        cmp "$built" "$kept" || {
            echo "$kept is not what report-ui/ builds: run scripts/build-report-ui.sh and commit it" >&2
            exit 1
        }
    else
        cp "$built" "$kept"
    fi
done

#!/usr/bin/env bash
# Builds the HTML report's front end and puts it where the package has it; with --check, says whether that is the same.
# Needs Node 20 or later and npm. Who installs ticktree needs neither: the built page is committed.
set -euo pipefail
cd "$(dirname "$0")/../report-ui"
page=../src/ticktree/outputs/html/page.html
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm ci --no-audit --no-fund --loglevel=error
    touch node_modules/.package-lock.json
fi
npm run --silent check
npm run --silent test
npx --no-install vite build --logLevel warn
if [ "${1:-}" = --check ]; then
    cmp dist/index.html "$page" || {
        echo "the committed page is not what report-ui/ builds: run scripts/build-report-ui.sh and commit $page" >&2
        exit 1
    }
else
    cp dist/index.html "$page"
fi

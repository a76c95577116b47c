#!/bin/sh
# Takes docs/images again, of new runs: on a quiet machine, because the pictures show the load.
#
#   scripts/images.sh [PYTHON [RUNS]]
#
# PYTHON has ticktree, matplotlib, textual and playwright (by default .venv's, after `make test`). history.png is drawn only
# where RUNS is named, a directory of runs whose program became slower with a commit: that takes weeks, or invented ones.
set -eu

cd "$(dirname "$0")/.."
python=$(realpath --no-symlinks "${1:-.venv/bin/python}")
images=$(pwd)/docs/images
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$python" -m ticktree run --quiet --timeline --name demo-control_loop --out "$scratch/loop" -m ticktree.demo.control_loop
loop=$(echo "$scratch"/loop/*-demo-control_loop)
"$python" scripts/picture.py "$loop" "$images/demo.svg"
"$python" -m ticktree report "$loop" -o "$images/overview.svg"
"$python" scripts/pictures_of_report.py "$loop"

# Not --quiet: its last line is the only one that shows a failure.
"$python" -m ticktree run --name ppo --out "$scratch/ppo" scripts/learner_and_actors.py 70 2>"$scratch/ppo.txt" &
until ppo=$(ls -d "$scratch"/ppo/*-ppo 2>/dev/null); do sleep 1; done
"$python" scripts/picture_of_top.py "$ppo" "$images/top.svg" --seconds 25
"$python" scripts/picture_of_top.py "$ppo" "$images/top-processes.svg" --keys w
wait

if [ $# -ge 2 ]; then
    "$python" -m ticktree history "$2" -o "$scratch/history.html"
    "$python" - "$scratch/history.html" "$images/history.png" <<'END'
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
    page = browser.new_page(viewport={"width": 1100, "height": 600}, color_scheme="light")
    page.goto(Path(sys.argv[1]).as_uri())
    page.screenshot(path=sys.argv[2], full_page=True)
END
fi

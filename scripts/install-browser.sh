#!/usr/bin/env bash
# Installs the browser that tests/browser runs the HTML report in: the system's Chromium. Does nothing where it is.
set -euo pipefail
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then exit 0; fi
done
if ! command -v apt-get >/dev/null; then
    echo "install Chromium by hand: this script knows only apt-get" >&2
    exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then sudo=sudo; fi
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core

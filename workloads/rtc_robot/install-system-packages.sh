#!/bin/sh
# What MuJoCo needs to draw without a screen (Debian, Ubuntu): EGL, and OSMesa where there is no EGL device.
set -eu

if [ "$(id -u)" -eq 0 ]; then as_root=; else as_root=sudo; fi
$as_root apt-get update
$as_root apt-get install --yes --no-install-recommends libegl1 libegl-mesa0 libgl1 libosmesa6

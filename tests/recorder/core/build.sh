#!/usr/bin/env bash
# build.sh OUTPUT SANITIZERS: the core's tests, without Python. The checks of the core's own build stay on.
set -euo pipefail
# Fences are for readers in other processes, which ThreadSanitizer does not see.
here=$(cd "$(dirname "$0")" && pwd)
quiet=(); [ "$2" != thread ] || quiet=(-Wno-tsan)
native=$here/../../../src/ticktree/recorder
"${CC:-cc}" -std=gnu11 -O1 -g -fno-omit-frame-pointer "-fsanitize=$2" -fno-sanitize-recover=all -fvisibility=hidden \
    -Wall -Wextra -Wno-unused-function -Werror "${quiet[@]}" '-DTICKTREE_PYFRAME="virtual_python.h"' "-I$here" "-I$native" \
    "$here"/*.c "$native"/core/*.c -lm -pthread -o "$1"

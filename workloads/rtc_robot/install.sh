#!/bin/sh
# install.sh PYTHON: install what the workload needs into the environment of that interpreter, in the order that works.
set -eu

python=$1
here=$(cd "$(dirname "$0")" && pwd)
"$python" -m pip install --constraint "$here/../../constraints.txt" --requirement "$here/requirements.txt"
"$python" -m pip install --no-deps --requirement "$here/requirements-no-deps.txt"

# Drawing without a screen: installed only where it is missing, since that needs root.
"$python" -c 'import ctypes; ctypes.CDLL("libEGL.so.1")' 2>/dev/null || "$here/install-system-packages.sh"

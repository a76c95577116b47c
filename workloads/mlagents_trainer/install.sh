#!/bin/sh
# install.sh PYTHON: install what the workload needs into the environment of that interpreter, in the order that works.
set -eu

python=$1
here=$(cd "$(dirname "$0")" && pwd)
"$python" -m pip install --constraint "$here/../../constraints.txt" --requirement "$here/requirements.txt"
# It says that it runs on 3.10 alone, and asks for an older torch: on 3.11 with this one its trainers train.
"$python" -m pip install --no-deps --ignore-requires-python --requirement "$here/requirements-no-deps.txt"

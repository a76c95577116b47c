#!/bin/sh
# What can only be checked on a machine with an NVIDIA or AMD GPU, in one go. It needs, in the Python that is called
# `python` (or $PYTHON): torch built for the GPU, this checkout (pip install -e .), pytest and hypothesis.
# Figures go to docs/measurements-gpu.md. All parts run, even after a failure; the status is 1 if any failed or a target
# was missed, and 2 where nothing could be checked.
set -eu
python=${PYTHON:-python}
cd "$(dirname "$0")/.."
for needed in torch ticktree pytest hypothesis; do
    if ! "$python" -c "import $needed"; then
        echo "$("$python" -c 'import sys; print(sys.executable)') cannot import $needed: see the top of $0" >&2
        exit 2
    fi
done
if ! "$python" -c "import torch, sys; sys.exit(not torch.cuda.is_available())"; then
    echo "no GPU here that torch can use: nothing measured" >&2
    exit 2
fi
failed=0
"$python" -m ticktree doctor -v || failed=1
"$python" -m pytest -q -m gpu tests/recorder/device_time tests/instruments || failed=1
"$python" benchmarks/gpu.py -o docs/measurements-gpu.md || failed=1
exit $failed

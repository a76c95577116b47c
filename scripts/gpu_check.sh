#!/bin/sh
# What can only be checked on a machine with an NVIDIA or AMD GPU, in one go: needs torch built for it, pytest and
# hypothesis in the Python that is called `python` (or $PYTHON). Figures go to gpu-check.json (or the first argument).
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python}
figures=${1:-gpu-check.json}
if ! "$python" -c "import torch, sys; sys.exit(not torch.cuda.is_available())"; then
    echo "no CUDA device that torch can use: there is nothing to check" >&2
    exit 2
fi
"$python" -m pytest -q -m gpu tests/recorder/device_time
"$python" benchmarks/device_time.py -o "$figures"
echo "figures: $figures"

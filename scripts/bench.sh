#!/usr/bin/env bash
# Every benchmark in turn. `scripts/bench.sh --quick` for a look; `docs/measurements.md` holds the figures of a full run.
set -euo pipefail
cd "$(dirname "$0")/.."
for benchmark in overhead step profilers focus child_cost memory wrapper_floor spikes jitter read_run query_timeline top_cost publish_cost start_up remote_call compare_power compare_noisy warmup steadiness history_power; do
    .venv-bench/bin/python "benchmarks/$benchmark.py" "$@"
done
.venv/bin/python benchmarks/visual_sac_overhead.py "$@"
.venv/bin/python benchmarks/parallel_trainer_shares.py "$@"
.venv/bin/python benchmarks/gathering.py "$@"
.venv/bin/python benchmarks/loader_workers.py "$@"
.venv/bin/python benchmarks/minibatches.py "$@"

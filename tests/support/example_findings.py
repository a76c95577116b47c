"""A finding of each rule, as its page in docs/rules shows it.

`PYTHONPATH=tests python -m support.example_findings` writes the pages' samples again.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from ticktree.analysis import Claim, Finding
from ticktree.analysis.loops import Saving
from ticktree.outputs.sentences import sentence
from ticktree.profile.short_names import ShortNames

RULES = Path(__file__).parents[2] / "docs" / "rules"
MS = 1_000_000
S = 1_000 * MS


def _of(rule: str, path: str, loop: str = "", saving: Saving | None = None, **facts: str | float) -> Finding:
    claim = Claim(0.3, loop) if loop else None
    return Finding(rule=rule, path=path, claim=claim, saving=saving, facts=facts)


EXAMPLES = {
    finding.rule: finding
    for finding in (
        _of(
            "allocation",
            "train/update/float",
            "train",
            section="train/update/float",
            section_bytes_per_s=1.02e9,
            page_faults_per_tick=18432,
            fresh_memory_bytes=18432 * 4096,
            estimated_cost_ns=36.9 * MS,
            tick_ns=120 * MS,
        ),
        _of("anomaly-detection", "", switched=1),
        _of("blocked-event-loop", "", function="Client.detect", line="grasp.py:33", blocked_share=0.46),
        _of(
            "blocking-writes",
            "train/log/os.fsync",
            "train",
            section="train/log/os.fsync",
            calls=1000,
            per_tick_ns=4.1 * MS,
            per_call_ns=4.1 * MS,
        ),
        _of(
            "evaluation",
            "learn/iteration/collect_rollouts/callback EvalCallback/evaluate_policy",
            "learn/iteration",
            section="learn/iteration/collect_rollouts/callback EvalCallback/evaluate_policy",
            calls=64,
            per_call_ns=772 * MS,
            tick_share=0.58,
        ),
        _of(
            "buffer-copies",
            "get_actions/prev_actions.clone",
            "get_actions",
            section="get_actions/prev_actions.clone",
            per_call_ns=15 * MS,
            per_call_bytes=64_000_000,
            tick_share=0.13,
        ),
        _of("contended", "", by="processes", cores_used_by_others=1.3, cores=2, waiting_share=0.3),
        _of(
            "copied-twice",
            "train/states/FloatTensor",
            "train",
            section="train/states/np.array",
            other_section="train/states/FloatTensor",
            parent="train/states",
            per_call_bytes=37_700_000,
            in_section_ns=8 * MS,
            in_others_ns=4 * MS,
        ),
        _of(
            "critical",
            "train/update/actor/backward",
            "train",
            Saving(3.40 * S, 3.40 * S, 1.26 * S),
            section="train/update/actor/backward",
            self_share=0.37,
        ),
        _of(
            "drift",
            "train/log",
            changed_loop="train",
            section="train/log",
            explained_share=1.0,
            tick_before_ns=8.02 * MS,
            tick_after_ns=12 * MS,
        ),
        _of(
            "fixed-sleep",
            "control",
            "control",
            tick_ns=13 * MS,
            budget_ns=10 * MS,
            busy_per_tick_ns=3 * MS,
        ),
        _of(
            "garbage-collection",
            "control",
            "control",
            gc_share=0.006,
            of_worst_ticks=4,
            worst_ticks=8,
            longest_pause_ns=18.4 * MS,
        ),
        _of(
            "pageable-copies",
            "train/copy to cuda",
            "train",
            section="train/copy to cuda",
            copied_per_call_bytes=37_700_000,
            per_call_ns=6.2 * MS,
            tick_share=0.18,
            pageable_share=1.0,
        ),
        _of(
            "gpu-wait",
            "train step/wait for cuda",
            "train step",
            Saving(8.54 * MS, 8.54 * MS, 1.45 * MS),
            kind="wait for cuda",
            waits_per_tick=4.0,
            waited_per_tick_ns=4.44 * MS,
            waited_share=0.52,
            gpu_used_share=0.83,
        ),
        _of(
            "small-minibatches",
            "iteration/train/backward",
            "iteration",
            steps_per_tick=320,
            per_step_ns=0.52 * MS,
            steps_share=0.41,
        ),
        _of(
            "gpu-memory",
            "train/forward",
            section="train/forward",
            needed_bytes=2.1e9,
            devices="cuda:0",
            is_exact=1,
        ),
        _of(
            "guidance",
            "get_actions/rtc.guidance_computation",
            "get_actions",
            section="get_actions/rtc.guidance_computation",
            guidance_per_inference_ns=29 * MS,
            inference_ns=87 * MS,
            of_inference_share=29 / 87,
            gauge="queue depth",
            low_in_queue=21,
            inference_ticks=2.6,
        ),
        _of(
            "horizon",
            "control/policy_inference",
            "control",
            section="control/policy_inference",
            actions_per_inference=5,
            wanted_actions_per_inference=10,
            per_call_ns=100 * MS,
            per_tick_ns=20 * MS,
            tick_share=0.72,
        ),
        _of("gil", "", function="Map.integrate_scan", line="slam.py:24", waited_share=0.88),
        _of(
            "full-queue",
            "follow/Queue.put",
            "follow",
            section="follow/Queue.put",
            role="recorder",
            waited_share=0.73,
            function="compress",
        ),
        _of(
            "hot-line",
            "",
            line="mpc.py:41",
            line_kind="deep-copy",
            in_line_ns=11.2 * S,
            tick_share=0.9,
            in_line_share=0.92,
            samples=480,
        ),
        _of(
            "idle-worker",
            "recv",
            role="env worker",
            workers=4,
            idle_workers=4,
            waited_share=0.6,
            woken_by="learner",
            woken_in="update",
            woken_by_share=0.9,
        ),
        _of(
            "imbalance",
            "",
            role="env worker",
            workers=5,
            busiest="env worker 4",
            busy_ns=5 * S,
            mean_busy_ns=3 * S,
        ),
        _of(
            "impossible-rate",
            "train/forward/conv1",
            section="train/forward/conv1",
            kind="flops",
            declared_flops_per_s=44.4e12,
            ceiling_flops_per_s=196e9,
            per_call_flops=2.22e9,
            per_call_ns=50_000,
            too_fast_factor=226,
            is_certain=1,
            gpus=0,
            items=256,
            possible_items=1.13,
        ),
        _of(
            "late-compilation",
            "train/model/torch compile",
            section="train/model",
            compiled_loop="train",
            recompilations=2,
            recompiling_ns=400 * MS,
        ),
        _of(
            "late-wake",
            "pan_tilt",
            p99_ns=13.1 * MS,
            budget_ns=5 * MS,
            busy_per_tick_ns=78_400,
            function="Camera.decode",
            line="track.py:41",
        ),
        _of(
            "list-of-arrays",
            "train/sample/np.array",
            "train",
            section="train/sample/np.array",
            batch_section="train/sample",
            per_batch_ns=16.6 * MS,
            batch_ns=17.7 * MS,
            copied_bytes_per_s=4.55e9,
            items=256,
        ),
        _of(
            "lock-convoy",
            "work/Lock.acquire",
            role="worker",
            workers=4,
            waiting_workers=2.96,
            for_peers_share=0.99,
        ),
        _of(
            "memory-growth",
            "train",
            growth_bytes_per_s=3.1e6,
            growth_per_tick_bytes=37_000,
            rising_share=0.97,
            resident_bytes=1.24e9,
        ),
        _of("memory", "train/sample", section="train/sample", needed_bytes=151_000_000, is_exact=0),
        _of(
            "missed-deadline",
            "control",
            missed=14,
            ticks=300,
            missed_share=14 / 300,
            longest_run=3,
            section="control/inference",
            in_missed_ticks_ns=41 * MS,
            in_kept_ticks_ns=22 * MS,
            gc_pause_ns=15 * MS,
        ),
        _of(
            "no-compilation",
            "control/policy_inference",
            "control",
            section="control/policy_inference",
            per_call_ns=100 * MS,
            busy_share=0.89,
        ),
        _of(
            "oversubscribed",
            "",
            busy_threads=1.98,
            cores=2,
            cores_used_by_others=0.67,
            waiting_share=0.33,
            threads_per_library="many",
            uses_torch=1,
        ),
        _of(
            "phase-change",
            "train/sample",
            changed_loop="train",
            section="train/sample",
            explained_share=0.99,
            from_ns=2.56 * S,
            tick_before_ns=10 * MS,
            tick_after_ns=14.9 * MS,
        ),
        _of(
            "preprocessing",
            "control/resize",
            "control",
            section="control/resize",
            preprocessing_per_tick_ns=60 * MS,
            tick_ns=162 * MS,
            busy_share=0.37,
            of_inference_share=0.6,
            per_call_ns=41 * MS,
            per_call_bytes=900_000,
        ),
        _of(
            "queue-merge",
            "get_actions/action_queue_merge",
            "get_actions",
            section="get_actions/action_queue_merge",
            per_call_ns=12 * MS,
            tick_share=0.1,
            of_inference_share=0.12,
            as_long_at_the_end_factor=3.1,
        ),
        _of(
            "recompilation",
            "train/jit update/compile update",
            function="update",
            compilations=7,
            recompiling_ns=1.4 * S,
            reason="shapes differ in argument 2 (batch)",
        ),
        _of(
            "round-trip",
            "driver/execute_and_wait_for_obs",
            "driver",
            section="driver/execute_and_wait_for_obs",
            round_trips_per_tick_ns=87 * MS,
            needed_per_tick_ns=110 * MS,
            busy_share=0.79,
            calls_per_tick=1,
            waited_share=1.0,
        ),
        _of(
            "slow",
            "train/update/critic 2/backward",
            "train",
            Saving(3.40 * S, 3.40 * S, 463 * MS),
            section="train/update/critic 2/backward",
            self_per_call_ns=463 * MS,
        ),
        _of(
            "slow-rate",
            "train/float",
            "train",
            section="train/float",
            kind="bytes",
            reason="memory access",
            declared_bytes_per_s=942e6,
            ceiling_bytes_per_s=10e9,
            per_call_bytes=37_700_000,
            per_call_ns=40 * MS,
            slower_factor=10.6,
        ),
        _of(
            "spikes",
            "control/decide",
            "control",
            long_ticks=6,
            ticks=600,
            one_in_ticks=100,
            in_long_ticks_ns=50 * MS,
            in_other_ticks_ns=1 * MS,
        ),
        _of("starved", "", gauge="action queue depth", empty_share=0.16),
        _of(
            "straggler",
            "make envs/env step/physics",
            worker="env worker 3",
            section="make envs/env step",
            measure="call",
            peers=3,
            as_long_factor=2.3,
            waiting_role="learner",
            waiting_workers=1,
            waited_in="train/step_wait",
            waited_for_it_share=1.0,
            known_by="wake edges",
        ),
        _of("throttled", "", slow_share=0.4, best_mhz=3406, slow_mhz=2114),
        _of("too-few-ticks", "control", steady_ticks=20, warmup_ticks=0, percentile=90, needed_ticks=29),
        _of(
            "transport",
            "env/envs.step",
            "env",
            role="Worker<AsyncVectorEnv>",
            workers=8,
            section="env/envs.step",
            blocked_per_tick_ns=792_000,
            worked_per_tick_ns=99_000,
        ),
        _of(
            "slow-loader",
            "train step/DataLoader load",
            "train step",
            workers=2,
            load_per_tick_ns=8.51e6,
            load_share=0.52,
        ),
        _of(
            "uneven-tasks",
            "evaluate",
            role="ThreadPoolExecutor-0",
            workers=8,
            section="evaluate",
            long_call_ns=60.9 * MS,
            typical_call_ns=9.45 * MS,
            worked_ns=3.48 * S,
            waited_ns=13.4 * S,
        ),
        _of(
            "unused-gradients",
            "train/actor/backward/backward with unused gradients",
            "train",
            section="train/actor",
            unused_share=0.68,
            unused_time_share=0.66,
            tick_share=0.38,
        ),
    )
}


def sample(rule: str) -> str:
    """What the page of a rule shows: its sentence, and where the report names node and rule."""
    finding = EXAMPLES[rule]
    lines = textwrap.wrap(sentence(finding, ShortNames()), 110)
    return "\n".join([*lines, " · ".join(filter(None, (finding.path, rule)))])


def page(rule: str) -> Path:
    return RULES / f"{rule}.md"


def shown(rule: str) -> str:
    """The sample on the page of a rule: its first block of text."""
    return re.search(r"```text\n(.*?)\n```", page(rule).read_text(encoding="utf-8"), re.DOTALL)[1]


if __name__ == "__main__":
    for rule in EXAMPLES:
        text = page(rule).read_text(encoding="utf-8")
        page(rule).write_text(text.replace(shown(rule), sample(rule), 1), encoding="utf-8")

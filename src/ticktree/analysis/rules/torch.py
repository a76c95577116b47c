"""Rules about PyTorch and JAX: unused gradients, loading in the loop, models not compiled or compiled again."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.finding import MIN_SAVING_SHARE, Claim, Finding
from ticktree.analysis.loops import DOMINATES_SHARE, MIN_TICKS, LoopView, SectionView
from ticktree.analysis.machine import Machine, most_saved_by_overlap
from ticktree.analysis.rules import Facts, finding, longest
from ticktree.analysis.rules.machine import COMPILED_GAUGE
from ticktree.analysis.section_kinds import inference, modules_in, per_tick_ns
from ticktree.profile import Loop, Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST, REMOTE

# In torch's instrument: the section of a backward pass that computes gradients that are cleared before any step uses
# them, and the gauges of their share of all numbers in the gradients and of the pass's time. The names of the gauges
# end with the line that calls the pass.
UNUSED_SECTION = "backward with unused gradients"
UNUSED_GAUGE = "torch/unused gradients/"
UNUSED_TIME_GAUGE = "torch/time of unused gradients/"
# The section is recorded from the third such pass on: it is no guess, and as many calls give it a time.
MIN_CALLS = 3
# If the time of unused gradients was not measured, freezing saves this share of their cost: a layer's pass is two
# products, and the product with respect to its input is still needed.
WEIGHTS_SHARE = 0.5

# The sections of torch's instrument for loading a batch in the loop's own process, for starting a loader, and for the
# wait for a batch of its workers.
LOADING = "DataLoader load"
STARTING, LOADER_WAIT = "DataLoader start", "DataLoader wait"
# Two loaders, of training and evaluation, are started once each.
MIN_STARTS = 4
# The time in which a loop receives a batch from another process. With 16 items of 12 kB and one or two workers on two
# cores, ticks were 1.3 to 1.5 ms longer than their own work if the workers kept up, and with batches that load in less
# than 2 ms the loop became slower (benchmarks/loader_workers.py).
RECEIVING_NS = 1_500_000
MIN_LOADING_SHARE = 0.05
# One worker loads the next batch and one is ahead, on any machine.
MIN_WORKERS = 2

# If a section waits for half of its time, a server or another process does the inference.
WAITS_SHARE = 0.5
# The mean speed-up of inference by torch.compile, over more than 180 models on an A100: Ansel et al.,
# "PyTorch 2: Faster Machine Learning Through Dynamic Python Bytecode Transformation and Graph Compilation", ASPLOS
# 2024.
TYPICAL_FACTOR = 2.27
# A loop that needs less than this share of its budget gains nothing from faster inference. Our own choice.
SPARE_SHARE = 0.5
# The classes of scripted and of traced modules in TorchScript.
_SCRIPTED = re.compile(r"^forward \w*(ScriptModule|TracedModule)")
# A shorter call is mostly the cost of Python on a CPU, which the guards and graph breaks of torch.compile increase:
# CleanRL's network of 19 to 70 µs per call became 0.67 and 0.86 times as fast.
MIN_CALL_NS = 200_000

# The section of torch's instrument for a backward pass, and the beginning of that for a step, before the optimizer's
# name.
BACKWARD, STEP = "backward", "optimizer step"
# With this many gradient steps per tick, they are for minibatches; other algorithms take one or a few per batch.
MIN_MINIBATCHES = 8
# A backward pass and a step of Adam that take less together are mostly the cost of calling operators: with twice the
# samples they took at most half as long again (benchmarks/minibatches.py).
SHORT_STEP_NS = 900_000
MIN_STEPS_SHARE = 0.4

# The section of torch's instrument for a copy to a GPU, and the gauge that is 1 if it was from pinned memory.
COPY_TO_GPU, PINNED_GAUGE = "copy to cuda", "torch/pinned copies"
# Shorter copies from pageable memory return before they are done: "API synchronization behavior" in CUDA's manual.
MIN_COPY_BYTES = 1 << 16
MIN_COPY_SHARE = 0.05

# The sections of torch's instrument for a wait for a GPU, either for a number from it or for all its work, and for
# emptying torch's cache of its memory.
GPU_WAIT, EMPTYING = "wait for cuda", "empty_cache"
MIN_GPU_WAIT_SHARE = 0.05

# The gauge of torch's instrument for whether autograd looks for anomalies.
ANOMALY_GAUGE = "torch/anomaly detection"
# Code that switches it on this often does so routinely, for example around each step, and does not search for a NaN.
MIN_SWITCHES = 10

# The section of torch's instrument for a compilation.
COMPILING = "torch compile"
# In JAX's instrument: the beginnings of the sections for the phases of a compilation, before the function's name, and
# of the gauges that count each reason for a further compilation.
PHASES = ("trace ", "lower ", "compile ")
RECOMPILED_GAUGE = "jax/compiled again/"
# A function is often compiled for two shapes, for example those of training and of evaluation.
MIN_COMPILATIONS = 3
# If no warm-up was set aside, the first ticks are not counted: compiling is expected there.
FIRST_TICKS = 10


class UnusedGradientsRule:
    """A backward pass computes gradients that no step uses.

    Finds each backward pass with gradients that are discarded; see docs/rules/unused-gradients.md.
    """

    name: ClassVar[str] = "unused-gradients"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such pass that takes a hundredth of its loop."""
        gauges = context.profile.gauges
        for view in context.repeated:
            for section in view.path_sections:
                is_long = section.count >= MIN_CALLS and section.share >= MIN_SAVING_SHARE
                if section.name != UNUSED_SECTION or not is_long:
                    continue
                trained, site = _trained_section(section, view), section.node.call_site
                line = f"{PurePath(site.file).name}:{site.line}" if site is not None else ""
                unused, unused_time = (
                    gauge.last if (gauge := gauges.get(name + line)) else None
                    for name in (UNUSED_GAUGE, UNUSED_TIME_GAUGE)
                )
                facts: Facts = {
                    # A loop trains more than one of its passes does.
                    "section": trained if view.loop is None or trained != view.path else None,
                    "line": line or None,
                    "tick_share": section.share,
                    "per_call_ns": section.call_ns,
                    "calls": section.count,
                    "unused_share": unused,
                    "unused_time_share": unused_time,
                }
                estimate = WEIGHTS_SHARE * (1.0 if unused is None else unused)
                saved_share = section.share * (estimate if unused_time is None else unused_time)
                claim = Claim(saved_share, view.path, spares_gpu=True)
                yield finding(self.name, section.path, facts, claim)


def _trained_section(section: SectionView, view: LoopView) -> str:
    """Return the section that a backward pass trains: the innermost one around it that is no backward pass."""
    return next((above.path for above in section.above() if "backward" not in above.name), view.path)


class SlowLoaderRule:
    """A loop loads its batches itself, although other processes could, or starts such processes again and again.

    Finds each DataLoader without workers that would be faster with some, and each whose workers end every time; see
    docs/rules/slow-loader.md.
    """

    name: ClassVar[str] = "slow-loader"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each main loop that loads for longer than receiving would take, or starts workers."""
        machine = Machine(context.profile)
        for view in context.main_loops:
            for section in view.path_sections if view.loop is not None else ():
                if section.name == LOADING and section.count >= MIN_TICKS:
                    yield from _slow_load(section, machine)
                if section.name == STARTING and section.count >= MIN_STARTS:
                    yield from _repeated_start(section)


def _slow_load(load: SectionView, machine: Machine) -> Iterator[Finding]:
    """Yield a finding for batches that other processes would load faster, even though the loop must receive them."""
    view, workers = load.view, _workers(load, machine)
    rest_ns = max(view.tick_ns - load.total_ns, load.total_ns / workers)
    saved_ns = view.tick_ns - rest_ns - RECEIVING_NS * load.calls
    share = min(view.share(max(0.0, saved_ns)), most_saved_by_overlap(machine))
    if share >= MIN_LOADING_SHARE:
        facts: Facts = {
            "workers": workers,
            "load_per_tick_ns": load.total_ns,
            "load_share": load.share,
            "per_batch_ns": load.call_ns,
        }
        yield finding(SlowLoaderRule.name, load.path, facts, Claim(share, view.path))


def _workers(load: SectionView, machine: Machine) -> int:
    """Return how many workers load as fast as the rest of the loop consumes; no more than there are free cores."""
    rest_ns = load.view.tick_ns - load.total_ns
    needed = math.ceil(load.total_ns / rest_ns) if rest_ns > 0 else MIN_WORKERS
    return max(MIN_WORKERS, min(needed, int(machine.free_cores or 0)))


def _repeated_start(start: SectionView) -> Iterator[Finding]:
    """Yield a finding for workers that are started again, whose first batches are late because they import modules."""
    view = start.view
    wait = next((section for section in view.path_sections if section.name == LOADER_WAIT), None)
    first_ns = 0.0
    if wait is not None:  # the time beyond the usual wait for a batch
        first_ns = max(0.0, wait.total_ns - wait.calls * (wait.stats.p50_ns or 0))
    share = view.share(start.total_ns + first_ns)
    if share >= MIN_LOADING_SHARE:
        facts: Facts = {"starts": start.count, "per_start_ns": start.call_ns, "start_share": share}
        yield finding(SlowLoaderRule.name, start.path, facts, Claim(share, view.path))


class SmallMinibatchesRule:
    """Gradient steps are mostly the cost of calling operators, because their minibatches are small.

    Finds each main loop that takes many short gradient steps per tick; see docs/rules/small-minibatches.md.
    """

    name: ClassVar[str] = "small-minibatches"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each main loop that is mostly short backward passes and steps."""
        for view in context.main_loops:
            passes = [section for section in view.path_sections if section.name in (BACKWARD, UNUSED_SECTION)]
            steps = [section for section in view.path_sections if section.name.startswith(STEP)]
            count, both = sum(section.calls for section in passes), passes + steps
            if count < MIN_MINIBATCHES or not steps or any(section.node.on_devices for section in both):
                continue
            steps_ns = per_tick_ns(both)
            share = view.share(steps_ns)
            if steps_ns / count <= SHORT_STEP_NS and share >= MIN_STEPS_SHARE:
                backward = longest(passes)
                parts = [section for section in view.path_sections if _is_per_step(section, backward)]
                facts = {"steps_per_tick": count, "per_step_ns": steps_ns / count, "steps_share": share}
                # There are half as many minibatches if they are twice as large.
                saved_share = view.share(max(steps_ns, per_tick_ns(parts))) / 2
                yield finding(self.name, backward.path, facts, Claim(saved_share, view.path, spares_gpu=True))


def _is_per_step(section: SectionView, backward: SectionView) -> bool:
    """Return whether a section is part of each gradient step, such as the forward pass and clipping."""
    return paths.parent(section.path) == paths.parent(backward.path) and section.count == backward.count


class PageableCopiesRule:
    """A loop copies its data to a GPU from pageable memory, and waits for each copy.

    Finds each such copy of a main loop; see docs/rules/pageable-copies.md.
    """

    name: ClassVar[str] = "pageable-copies"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each copy that takes a twentieth of its loop, unless most are from pinned memory."""
        pinned = context.profile.gauges.get(PINNED_GAUGE)
        if pinned is None or 2 * pinned.zeros < pinned.count:
            return
        for view in context.main_loops:
            for section in view.path_sections:
                if section.name != COPY_TO_GPU or section.node.work is None:
                    continue
                copied = section.node.work.bytes / section.node.count
                if copied < MIN_COPY_BYTES or section.share < MIN_COPY_SHARE:
                    continue
                facts: Facts = {
                    "section": section.path,
                    "copied_per_call_bytes": copied,
                    "per_call_ns": section.call_ns,
                    "tick_share": section.share,
                    "pageable_share": pinned.zeros / pinned.count,
                }
                yield finding(self.name, section.path, facts, Claim(section.share, view.path))


class GpuWaitRule:
    """A loop waits for its GPU, which then has nothing to do while the loop prepares its next work.

    Finds each main loop that asks a GPU for numbers, waits for all its work, or empties torch's cache, if the GPU is
    known to be idle for a part of the tick; see docs/rules/gpu-wait.md.
    """

    name: ClassVar[str] = "gpu-wait"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each kind of wait that takes a twentieth of its loop."""
        for view in context.main_loops:
            used = context.gpu_used(view)
            if used is None:
                continue
            for kind in (GPU_WAIT, EMPTYING):
                waits = [section for section in view.path_sections if section.name == kind]
                waited_ns = per_tick_ns(waits)
                share = view.share(waited_ns)
                if share < MIN_GPU_WAIT_SHARE:
                    continue
                facts: Facts = {
                    "kind": kind,
                    "waits_per_tick": sum(section.calls for section in waits),
                    "waited_per_tick_ns": waited_ns,
                    "waited_share": share,
                    "gpu_used_share": used,
                }
                yield finding(self.name, longest(waits).path, facts, Claim(share, view.path))


class AnomalyDetectionRule:
    """Autograd looks for anomalies, which is for debugging: it keeps a traceback of each operation.

    Finds a run at whose end this is on, or in which it is switched on repeatedly; see docs/rules/anomaly-detection.md.
    """

    name: ClassVar[str] = "anomaly-detection"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield one finding if it is on; its cost is not measured."""
        if _looks_for_anomalies(context.profile):
            count = context.profile.gauges[ANOMALY_GAUGE].count
            yield finding(self.name, "", {"switched": count}, severity="critical")


def _looks_for_anomalies(profile: Profile) -> bool:
    gauge = profile.gauges.get(ANOMALY_GAUGE)
    return gauge is not None and (bool(gauge.last) or gauge.positive.count >= MIN_SWITCHES)


class NoCompilationRule:
    """Inference is most of the loop, and nothing is compiled.

    Finds each loop that is half inference or more, if nothing is compiled; see docs/rules/no-compilation.md.
    """

    name: ClassVar[str] = "no-compilation"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop of inference where nothing was compiled."""
        compiled = context.profile.gauges.get(COMPILED_GAUGE)  # it exists if torch was instrumented
        if compiled is None or compiled.max != 0 or _looks_for_anomalies(context.profile):
            return
        for view in context.repeated:
            modules = [module for section in inference(view, context) for module in modules_in(section)]
            model = [module for module in modules if _is_worth_compiling(module)]
            model_ns = per_tick_ns(model)
            share = view.share(model_ns) * (1 - 1 / TYPICAL_FACTOR)
            if view.needed_share(model_ns) < DOMINATES_SHARE or share < MIN_SAVING_SHARE or _has_slack(view):
                continue
            section = longest(model)
            facts: Facts = {
                "section": section.path,
                "busy_share": view.needed_share(model_ns),
                "inference_per_tick_ns": model_ns,
                "tick_ns": view.tick_ns,
                "per_call_ns": section.call_ns,
                "calls": section.count,
                "typical_gain_factor": TYPICAL_FACTOR,
            }
            yield finding(self.name, section.path, facts, Claim(share, view.path, spares_gpu=True))


def _has_slack(view: LoopView) -> bool:
    """Return whether a loop has a rate and needs so little of its budget that faster inference gains nothing."""
    return bool(view.loop and view.loop.budget_ns and view.busy_ns < SPARE_SHARE * view.loop.budget_ns)


def _is_worth_compiling(section: SectionView) -> bool:
    """Return whether a section computes for long enough, and does not wait for inference in another process."""
    if any(_SCRIPTED.search(node.name) for _, _, node in section.node.walk()):
        return False  # TorchScript has compiled it
    is_on_device = any(child.clock not in (HOST, REMOTE) for child in section.node.children.values())
    is_long = is_on_device or (section.node.steady.p50_ns or 0) >= MIN_CALL_NS
    return is_long and section.count >= MIN_TICKS and section.waited_share < WAITS_SHARE


class LateCompilationRule:
    """torch.compile compiles again after the warm-up.

    Finds each loop in which torch.compile compiled after its warm-up; see docs/rules/late-compilation.md.
    """

    name: ClassVar[str] = "late-compilation"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each section of a loop that compiled again, the longest first."""
        compilations = []
        reported: set[str] = set()
        # The innermost loop comes first; findings about outer loops would only repeat it.
        for path, loop in sorted(context.profile.loops.items(), key=lambda item: -len(paths.split(item[0]))):
            node = context.profile.root.at(path)
            for subpath, _, child in node.walk():
                full_path = f"{path}/{subpath}" if subpath else path
                if child.name == COMPILING and full_path not in reported:
                    reported.add(full_path)
                    calls, compiling_ns = _late_compilations(child, node, loop)
                    if calls:
                        compilations.append((compiling_ns, calls, full_path, loop))
        for compiling_ns, calls, path, loop in sorted(compilations, key=lambda entry: (-entry[0], entry[2])):
            run_ns = context.run_ns or loop.busy_ns
            worst = [tick for tick in loop.worst if tick.breakdown.get(path, 0) >= tick.duration_ns / 2]
            facts: Facts = {
                "section": paths.parent(path),
                "compiled_loop": loop.path,
                "recompilations": calls,
                "recompiling_ns": compiling_ns,
                "worst_ticks_share": len(worst) / len(loop.worst) if worst else None,
            }
            claim = Claim(compiling_ns / run_ns if run_ns else 0.0)
            yield finding(self.name, path, facts, claim)


def _late_compilations(node: Node, loop_node: Node, loop: Loop) -> tuple[int, int]:
    """Return how often a node compiled after the loop's warm-up, and for how many nanoseconds."""
    if loop.warmup_ticks:
        return node.steady.count, node.steady.sum_ns
    width_ns = max(node.windows.width_ns, loop_node.windows.width_ns)
    ticks, windows = loop_node.windows.coarsened(width_ns), node.windows.coarsened(width_ns)
    first_ticks = 0
    for last in sorted(ticks.counts):
        first_ticks += ticks.counts[last]
        if first_ticks >= FIRST_TICKS:
            later = [index for index in windows.counts if index > last]
            return sum(map(windows.counts.__getitem__, later)), sum(windows.totals.get(i, 0) for i in later)
    return 0, 0


class RecompilationRule:
    """JAX compiles a function again and again, for a known reason.

    Finds each function that `jax.jit` compiled at least three times; see docs/rules/recompilation.md.
    """

    name: ClassVar[str] = "recompilation"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such function, the one with the longest compilation first."""
        reasons: dict[str, list[tuple[float, str]]] = {}
        for gauge, values in context.profile.gauges.items():
            if gauge.startswith(RECOMPILED_GAUGE):
                function, _, reason = gauge.removeprefix(RECOMPILED_GAUGE).partition(": ")
                reasons.setdefault(function, []).append((-values.max, reason))
        phases: dict[str, list[tuple[str, Node]]] = {}
        for path, _, node in context.profile.root.walk() if reasons else ():
            phase = next((phase for phase in PHASES if node.name.startswith(phase)), None)
            if phase is not None:
                phases.setdefault(node.name.removeprefix(phase), []).append((path, node))
        run_ns = context.run_ns or context.profile.root.total_ns
        recompilations = []
        for name, counts in reasons.items():
            nodes = phases.get(name, [])
            times = sum(node.count for _, node in nodes if node.name.startswith(PHASES[-1]))
            if times >= MIN_COMPILATIONS:
                again_ns = sum(node.total_ns for _, node in nodes) * (times - 1) / times
                facts: Facts = {
                    "function": name,
                    "compilations": times,
                    "recompiling_ns": again_ns,
                    "reason": min(counts)[1],
                }
                path, _ = max(nodes, key=lambda entry: entry[1].total_ns)
                claim = Claim(again_ns / run_ns if run_ns else 0.0)
                recompilations.append((again_ns, finding(self.name, path, facts, claim)))
        for _, recompilation in sorted(recompilations, key=lambda entry: -entry[0]):
            yield recompilation

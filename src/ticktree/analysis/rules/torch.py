"""Rules about PyTorch and JAX: unused gradients, loading in the loop, models not compiled or compiled again."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import ClassVar

from ticktree.analysis.context import Context
from ticktree.analysis.finding import LEAST_SHARE, Claim, Fact, Finding
from ticktree.analysis.loops import DOMINATES_SHARE, LEAST_TICKS, LoopView, SectionView
from ticktree.analysis.machine import Machine, most_saved_by_overlap
from ticktree.analysis.rules.machine import COMPILED_GAUGE
from ticktree.analysis.section_kinds import inference, modules_in, per_tick_ns
from ticktree.profile import Loop, Node, Profile
from ticktree.profile import path as paths
from ticktree.profile.measures import HOST, REMOTE

# What the instrument of torch calls a backward pass that computes gradients that are cleared before any step uses
# them, and the gauges of what part of all numbers in its gradients that is, and of what part of its time they take:
# each followed by the line that calls the pass.
UNUSED_SECTION = "backward with unused gradients"
UNUSED_GAUGE = "torch/unused gradients/"
UNUSED_TIME_GAUGE = "torch/time of unused gradients/"
# The section begins once a pass was caught three times: what is in it is no guess, and as many calls give it a time.
LEAST_CALLS = 3
# Where the time of unused gradients was not measured, the part of what they cost that freezing saves: a layer's pass
# is two products, and the one with respect to its input is still needed.
WEIGHTS_SHARE = 0.5

# What the instrument of torch calls the loading of a batch in the loop's own process,
LOADING = "DataLoader load"
# and a loader's start and the wait for a batch of its workers.
STARTING, LOADER_WAIT = "DataLoader start", "DataLoader wait"
# Two loaders, of training and evaluation, are started once each.
LEAST_STARTS = 4
# What it takes a loop to receive a batch from another process. With 16 items of 12 kB and one or two workers on two
# cores, ticks were 1.3 to 1.5 ms longer than their own work wherever the workers kept up, and with batches that load
# in less than 2 ms the loop became slower (benchmarks/loader_workers.py).
RECEIVING_NS = 1_500_000
LEAST_LOADED_SHARE = 0.05
# One that loads and one that is ahead, whatever the machine.
FEWEST_WORKERS = 2

# A section that waits for half of its time has its inference done elsewhere: by a server, or another process.
WAITS_SHARE = 0.5
# How much faster inference became on average by torch.compile, over more than 180 models on an A100: Ansel et al.,
# "PyTorch 2: Faster Machine Learning Through Dynamic Python Bytecode Transformation and Graph Compilation", ASPLOS
# 2024.
TYPICAL_FACTOR = 2.27
# A loop that needs less of its budget does not gain by faster inference. Our own choice.
SPARE_SHARE = 0.5
# The classes of TorchScript's modules, and of those that were traced.
_SCRIPTED = re.compile(r"^forward \w*(ScriptModule|TracedModule)")
# A shorter call is mostly Python's own cost on a CPU, which guards and graph breaks of torch.compile add to: CleanRL's
# network of 19 to 70 µs per call became 0.67 and 0.86 times as fast.
LEAST_CALL_NS = 200_000

# What the instrument of torch calls a backward pass, and before its optimizer's name a step.
BACKWARD, STEP = "backward", "optimizer step"
# With this many gradient steps per tick they are of minibatches; other algorithms take one or a few for each batch.
LEAST_MINIBATCHES = 8
# A backward pass and a step of Adam that take less together are mostly the cost of calling operators: with twice the
# samples they took at most half as long again (benchmarks/minibatches.py).
SHORT_STEP_NS = 900_000
LEAST_STEPS_SHARE = 0.4

# What the instrument of torch calls a copy to a GPU, and the gauge of whether it was from pinned memory.
COPY_TO_GPU, PINNED_GAUGE = "copy to cuda", "torch/pinned copies"
# Shorter copies from pageable memory return before they are done: "API synchronization behavior" in CUDA's manual.
LEAST_COPY_BYTES = 1 << 16
LEAST_COPY_SHARE = 0.05

# What the instrument of torch calls a wait for a GPU, be it for a number from there or for all its work, and the
# emptying of torch's cache of its memory.
GPU_WAIT, EMPTYING = "wait for cuda", "empty_cache"
LEAST_GPU_WAIT_SHARE = 0.05

# What the instrument of torch calls the gauge of whether autograd looks for anomalies.
ANOMALY_GAUGE = "torch/anomaly detection"
# Switched on so often it is a habit, as around each step, and not a search.
LEAST_SWITCHES = 10

# What the instrument of torch calls a compilation.
COMPILING = "torch compile"
# What the instrument of JAX calls the phases of one, each followed by the function's name; and its gauges of why there
# was another: the name, and how often for this reason.
PHASES = ("trace ", "lower ", "compile ")
RECOMPILED_GAUGE = "jax/compiled again/"
# A function is often compiled for two shapes, as those of training and of evaluation.
LEAST_COMPILATIONS = 3
# Where no warm-up was set aside, the first ticks are not counted: there compiling is in its place.
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
                is_long = section.count >= LEAST_CALLS and section.share >= LEAST_SHARE
                if section.name != UNUSED_SECTION or not is_long:
                    continue
                trained, site = _trained_section(section, view), section.node.call_site
                line = f"{PurePath(site.file).name}:{site.line}" if site is not None else ""
                facts: dict[str, Fact] = {
                    # A loop trains more than what one of its passes is for.
                    **({"section": trained} if view.loop is None or trained != view.path else {}),
                    **({"line": line} if line else {}),
                    "tick_share": section.share,
                    "per_call_ns": section.call_ns,
                    "calls": section.count,
                }
                saved_share = WEIGHTS_SHARE
                if unused := gauges.get(UNUSED_GAUGE + line):
                    facts["unused_share"] = unused.last
                    saved_share *= unused.last
                if measured := gauges.get(UNUSED_TIME_GAUGE + line):
                    facts["unused_time_share"] = saved_share = measured.last
                saved_share *= section.share
                claim = Claim(saved_share, view.path, spares_gpu=True)
                yield Finding(rule=self.name, claim=claim, path=section.path, facts=facts)


def _trained_section(section: SectionView, view: LoopView) -> str:
    """Return the section that a backward pass is for: the innermost one around it that has another name."""
    above = (each.path for each in section.above() if "backward" not in each.name)
    return next(above, view.path)


class SlowLoaderRule:
    """A loop loads its batches itself, while other processes could load them, or starts these again and again.

    Finds each DataLoader without workers that would be faster with some, and each whose workers do not stay; see
    docs/rules/slow-loader.md.
    """

    name: ClassVar[str] = "slow-loader"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each main loop that loads for longer than receiving would take, or starts workers."""
        machine = Machine(context.profile)
        for view in context.main_loops:
            for section in view.path_sections if view.loop is not None else ():
                if section.name == LOADING and section.count >= LEAST_TICKS:
                    yield from _loaded(section, machine)
                if section.name == STARTING and section.count >= LEAST_STARTS:
                    yield from _restarted(section)


def _loaded(load: SectionView, machine: Machine) -> Iterator[Finding]:
    """Yield a finding for batches that other processes would load sooner, even if they have to be received."""
    view, workers = load.view, _workers(load, machine)
    rest_ns = max(view.tick_ns - load.total_ns, load.total_ns / workers)
    saved_ns = view.tick_ns - rest_ns - RECEIVING_NS * load.calls
    share = min(view.share(max(0.0, saved_ns)), most_saved_by_overlap(machine))
    if share >= LEAST_LOADED_SHARE:
        yield Finding(
            rule=SlowLoaderRule.name,
            claim=Claim(share, view.path),
            path=load.path,
            facts={
                "workers": workers,
                "load_per_tick_ns": load.total_ns,
                "load_share": load.share,
                "per_batch_ns": load.call_ns,
            },
        )


def _workers(load: SectionView, machine: Machine) -> int:
    """Return how many workers load as fast as the rest of the loop consumes, or as many as there are cores for."""
    rest_ns = load.view.tick_ns - load.total_ns
    needed = math.ceil(load.total_ns / rest_ns) if rest_ns > 0 else FEWEST_WORKERS
    return max(FEWEST_WORKERS, min(needed, int(machine.free_cores or 0)))


def _restarted(start: SectionView) -> Iterator[Finding]:
    """Yield a finding for workers that are started again, and whose first batches are waited for while they import."""
    view = start.view
    wait = next((each for each in view.path_sections if each.name == LOADER_WAIT), None)
    first_ns = 0.0
    if wait is not None:  # what most batches are not waited for
        first_ns = max(0.0, wait.total_ns - wait.calls * (wait.stats.p50_ns or 0))
    share = view.share(start.total_ns + first_ns)
    if share >= LEAST_LOADED_SHARE:
        yield Finding(
            rule=SlowLoaderRule.name,
            claim=Claim(share, view.path),
            path=start.path,
            facts={"starts": start.count, "per_start_ns": start.call_ns, "start_share": share},
        )


class SmallMinibatchesRule:
    """Gradient steps that are mostly the cost of calling operators, because their minibatches are small.

    Finds each main loop that takes many short gradient steps per tick; see docs/rules/small-minibatches.md.
    """

    name: ClassVar[str] = "small-minibatches"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each main loop that is mostly short backward passes and steps."""
        for view in context.main_loops:
            passes = [each for each in view.path_sections if each.name in (BACKWARD, UNUSED_SECTION)]
            steps = [each for each in view.path_sections if each.name.startswith(STEP)]
            count = sum(each.calls for each in passes)
            if count < LEAST_MINIBATCHES or not steps or any(each.node.on_devices for each in passes + steps):
                continue
            took_ns = sum(each.total_ns for each in passes + steps)
            share = view.share(took_ns)
            if took_ns / count <= SHORT_STEP_NS and share >= LEAST_STEPS_SHARE:
                longest = max(passes, key=lambda each: each.total_ns)
                whole_ns = sum(each.total_ns for each in view.path_sections if _is_per_step(each, longest))
                yield Finding(
                    rule=self.name,
                    # Of minibatches twice as large, there are half as many.
                    claim=Claim(view.share(max(took_ns, whole_ns)) / 2, view.path, spares_gpu=True),
                    path=longest.path,
                    facts={"steps_per_tick": count, "per_step_ns": took_ns / count, "steps_share": share},
                )


def _is_per_step(section: SectionView, backward: SectionView) -> bool:
    """Return whether a section is part of each gradient step, as its forward pass and clipping are."""
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
                if copied < LEAST_COPY_BYTES or section.share < LEAST_COPY_SHARE:
                    continue
                yield Finding(
                    rule=self.name,
                    claim=Claim(section.share, view.path),
                    path=section.path,
                    facts={
                        "section": section.path,
                        "copied_per_call_bytes": copied,
                        "per_call_ns": section.call_ns,
                        "tick_share": section.share,
                        "pageable_share": pinned.zeros / pinned.count,
                    },
                )


class GpuWaitRule:
    """A loop waits for its GPU, which has nothing to do while the loop then prepares its next work.

    Finds each main loop that asks a GPU for numbers, waits for all its work, or empties torch's cache, where the GPU
    is known to be idle for a part of the tick; see docs/rules/gpu-wait.md.
    """

    name: ClassVar[str] = "gpu-wait"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each kind of wait that takes a twentieth of its loop."""
        for view in context.main_loops:
            used = context.gpu_used(view)
            if used is None:
                continue
            for kind in (GPU_WAIT, EMPTYING):
                waits = [each for each in view.path_sections if each.name == kind]
                waited_ns = per_tick_ns(waits)
                if view.share(waited_ns) < LEAST_GPU_WAIT_SHARE:
                    continue
                yield Finding(
                    rule=self.name,
                    claim=Claim(view.share(waited_ns), view.path),
                    path=max(waits, key=lambda each: each.total_ns).path,
                    facts={
                        "kind": kind,
                        "waits_per_tick": sum(each.calls for each in waits),
                        "waited_per_tick_ns": waited_ns,
                        "waited_share": view.share(waited_ns),
                        "gpu_used_share": used,
                    },
                )


class AnomalyDetectionRule:
    """Autograd looks for anomalies, which is for debugging: it keeps a traceback of each operation.

    Finds a run at the end of which it is on, or in which it is switched on repeatedly; see
    docs/rules/anomaly-detection.md.
    """

    name: ClassVar[str] = "anomaly-detection"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield one finding where it is on; what it costs is not measured."""
        if _looks_for_anomalies(context.profile):
            count = context.profile.gauges[ANOMALY_GAUGE].count
            yield Finding(rule=self.name, severity="critical", path="", facts={"switched": count})


def _looks_for_anomalies(profile: Profile) -> bool:
    gauge = profile.gauges.get(ANOMALY_GAUGE)
    return gauge is not None and (bool(gauge.last) or gauge.positive.count >= LEAST_SWITCHES)


class NoCompilationRule:
    """Inference is most of the loop, and nothing is compiled.

    Finds each loop that is half inference or more, if nothing is compiled; see docs/rules/no-compilation.md.
    """

    name: ClassVar[str] = "no-compilation"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each loop of inference where nothing was compiled."""
        compiled = context.profile.gauges.get(COMPILED_GAUGE)  # it exists where torch was instrumented
        if compiled is None or compiled.max != 0 or _looks_for_anomalies(context.profile):
            return
        for view in context.repeated:
            modules = [each for section in inference(view, context) for each in modules_in(section)]
            model = [section for section in modules if _infers_here(section)]
            model_ns = per_tick_ns(model)
            share = view.share(model_ns) * (1 - 1 / TYPICAL_FACTOR)
            if view.needed_share(model_ns) < DOMINATES_SHARE or share < LEAST_SHARE or _has_time(view):
                continue
            longest = max(model, key=lambda section: section.total_ns)
            yield Finding(
                rule=self.name,
                claim=Claim(share, view.path, spares_gpu=True),
                path=longest.path,
                facts={
                    "section": longest.path,
                    "busy_share": view.needed_share(model_ns),
                    "inference_per_tick_ns": model_ns,
                    "tick_ns": view.tick_ns,
                    "per_call_ns": longest.call_ns,
                    "calls": longest.count,
                    "typical_gain_factor": TYPICAL_FACTOR,
                },
            )


def _has_time(view: LoopView) -> bool:
    """Return whether a loop has a rate and needs so little of its budget that faster inference changes nothing."""
    return bool(view.loop and view.loop.budget_ns and view.busy_ns < SPARE_SHARE * view.loop.budget_ns)


def _infers_here(section: SectionView) -> bool:
    """Return whether it works, for long enough to be worth compiling, and does not wait for inference elsewhere."""
    if any(_SCRIPTED.search(node.name) for _, _, node in section.node.walk()):
        return False  # TorchScript: compiled before
    on_a_device = any(child.clock not in (HOST, REMOTE) for child in section.node.children.values())
    is_long = on_a_device or (section.node.steady.p50_ns or 0) >= LEAST_CALL_NS
    return is_long and section.count >= LEAST_TICKS and section.waited_share < WAITS_SHARE


class LateCompilationRule:
    """torch.compile compiles again after the warm-up.

    Finds each loop in which torch.compile was at work after its warm-up; see docs/rules/late-compilation.md.
    """

    name: ClassVar[str] = "late-compilation"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each section of a loop that compiled again, the longest first."""
        late = []
        inside: set[str] = set()
        # The innermost loop is where it happens; the outer ones would only repeat it.
        for path, loop in sorted(context.profile.loops.items(), key=lambda item: -len(paths.split(item[0]))):
            node = context.profile.root.at(path)
            for below, _, child in node.walk():
                whole = f"{path}/{below}" if below else path
                if child.name == COMPILING and whole not in inside:
                    inside.add(whole)
                    calls, compiling_ns = _late(child, node, loop)
                    if calls:
                        late.append((compiling_ns, calls, whole, loop))
        for compiling_ns, calls, path, loop in sorted(late, key=lambda entry: (-entry[0], entry[2])):
            run_ns = context.run_ns or loop.busy_ns
            facts: dict[str, Fact] = {
                "section": paths.parent(path),
                "compiled_loop": loop.path,
                "recompilations": calls,
                "recompiling_ns": compiling_ns,
            }
            worst = [tick for tick in loop.worst if tick.breakdown.get(path, 0) >= tick.duration_ns / 2]
            if worst:
                facts["worst_ticks_share"] = len(worst) / len(loop.worst)
            claim = Claim(compiling_ns / run_ns if run_ns else 0.0)
            yield Finding(rule=self.name, claim=claim, path=path, facts=facts)


def _late(node: Node, of_loop: Node, loop: Loop) -> tuple[int, int]:
    """Return how often a node compiled after the loop's warm-up, and for how many nanoseconds."""
    if loop.warmup_ticks:
        return node.steady.count, node.steady.sum_ns
    width_ns = max(node.windows.width_ns, of_loop.windows.width_ns)
    ticks, windows = of_loop.windows.coarsened(width_ns), node.windows.coarsened(width_ns)
    passed = 0
    for index in sorted(ticks.counts):
        passed += ticks.counts[index]
        if passed >= FIRST_TICKS:
            late = [at for at in windows.counts if at > index]
            return sum(windows.counts[at] for at in late), sum(windows.totals.get(at, 0) for at in late)
    return 0, 0


class RecompilationRule:
    """JAX compiles a function again and again, and why is known.

    Finds each function that `jax.jit` compiled at least three times; see docs/rules/recompilation.md.
    """

    name: ClassVar[str] = "recompilation"

    def find(self, context: Context) -> Iterator[Finding]:
        """Yield a finding for each such function, the longest in compiling first."""
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
        found = (_compiled_again(name, phases.get(name, []), min(why)[1]) for name, why in reasons.items())
        for again_ns, path, facts in sorted((each for each in found if each), key=lambda each: -each[0]):
            run_ns = context.run_ns or context.profile.root.total_ns
            claim = Claim(again_ns / run_ns if run_ns else 0.0)
            yield Finding(rule=self.name, claim=claim, path=path, facts=facts)


def _compiled_again(
    name: str, phases: list[tuple[str, Node]], reason: str
) -> tuple[float, str, dict[str, Fact]] | None:
    """Return for how long a function was compiled again, where it was longest, and the facts."""
    times = sum(node.count for _, node in phases if node.name.startswith(PHASES[-1]))
    if times < LEAST_COMPILATIONS:
        return None
    again_ns = sum(node.total_ns for _, node in phases) * (times - 1) / times
    path, _ = max(phases, key=lambda entry: entry[1].total_ns)
    facts: dict[str, Fact] = {
        "function": name,
        "compilations": times,
        "recompiling_ns": again_ns,
        "reason": reason,
    }
    return again_ns, path, facts

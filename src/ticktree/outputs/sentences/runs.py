"""Messages of findings about ticks, workers and the machine."""

from __future__ import annotations

from ticktree.analysis.loops import MIN_TICKS
from ticktree.analysis.machine import MARGIN_CORES
from ticktree.analysis.rules.deadlines import PERCENTILES, ticks_for
from ticktree.analysis.rules.torch import LOADER_WAIT
from ticktree.outputs.sentences.facts import FactText, formatted
from ticktree.outputs.writing.formatting import counted


def missed_deadline(facts: FactText) -> str:
    if facts.number("missed") == facts.number("ticks"):
        text = f"{facts.loop} misses all of its {facts['ticks']} ticks"
        if "busy_per_tick_ns" in facts:
            text += f": it is busy for {facts['busy_per_tick_ns']} per tick, and its rate allows {facts['budget_ns']}"
        if "section" in facts:
            text += f"; {facts['section']} takes most of that, {facts['in_missed_ticks_ns']}"
        return text + _doubt(facts, "the misses")
    text = f"{facts.loop} misses {facts['missed']} of {facts['ticks']} ticks ({facts['missed_share']})"
    if facts.number("longest_run") > 1:
        text += f", up to {facts['longest_run']} in a row"
    reasons = [*_late_sections(facts), *_system_causes(facts)]
    text = f"{text}: {'; '.join(reasons)}" if reasons else text
    return text + _doubt(facts, "the misses")


def _doubt(facts: FactText, effect: str) -> str:
    """Return the doubt about a finding in a run that lacked cores."""
    if "doubt" not in facts:
        return ""
    cores = {"contended": "took the run's cores", "others": "used more cores at times"}.get(facts["doubt"])
    if cores is not None:
        return f"; other processes {cores}, so {effect} may be theirs: measure on an idle machine"
    return f"; the run has more busy threads than cores, so {effect} may be due to that"


def _late_sections(facts: FactText) -> list[str]:
    reasons = []
    for prefix in ("", "second_"):
        if f"{prefix}section" in facts:
            is_loop = facts.path(f"{prefix}section") == facts.finding.path
            name = f"self time of {facts.loop}" if is_loop else facts[f"{prefix}section"]
            missed, usual = facts[f"{prefix}in_missed_ticks_ns"], facts[f"{prefix}in_kept_ticks_ns"]
            reasons.append(f"{name} takes {missed} in those and {usual} in the others")
    return reasons


def _system_causes(facts: FactText) -> list[str]:
    reasons = []
    if "gc_pause_ns" in facts:
        reasons.append(f"the garbage collector takes {facts['gc_pause_ns']} of it")
    if "preemptions" in facts:
        switches, usual = facts.number("preemptions"), facts.number("usual_preemptions")
        reasons.append(
            f"another thread takes its core {switches:.1f} times in each, {usual:.1f} times in the others"
        )
    verbs = {"pages_read": "are read from a disk", "pages_touched": "are touched for the first time"}
    for key, verb in verbs.items():
        if key in facts:
            reasons.append(f"{facts.number(key):,.0f} more pages of memory {verb} in each")
    return reasons


def fixed_sleep(facts: FactText) -> str:
    return (
        f"Sleep only what is left of each tick of {facts.loop}, or use pace=True: ticks take {facts['tick_ns']} where "
        f"the rate allows {facts['budget_ns']}, and only {facts['busy_per_tick_ns']} of that is busy"
    )


def spikes(facts: FactText) -> str:
    period = f", one in {facts['one_in_ticks']}," if "one_in_ticks" in facts else ""
    return (
        f"Do the rare work of {facts.name} in another thread, or a part "
        f"of it in each tick: in {facts['long_ticks']} of {facts['ticks']} ticks of {facts.loop}{period} it takes "
        f"{facts['in_long_ticks_ns']}, in the others {facts['in_other_ticks_ns']}"
    )


def too_few_ticks(facts: FactText) -> str:
    ticks = round(facts.number("steady_ticks"))
    after = " after its warm-up" if facts.number("warmup_ticks") else ""
    text = f"{facts.loop} has {counted(round(ticks), 'tick')}{after}"
    if ticks < MIN_TICKS:
        needed = ticks_for(PERCENTILES[-1])
        return f"{text}: too few for any statistics; record at least {MIN_TICKS}, and {needed} for a p99"
    return f"{text}: too few for a p{facts['percentile']}, which needs {facts['needed_ticks']}"


def straggler(facts: FactText) -> str:
    peers = "its only peer" if facts.number("peers") == 1 else f"its {facts['peers']} peers"
    node = facts["section"]
    if facts.path("section") != facts.finding.path:
        node += f", most of it in {facts.name}"
    measure, factor = facts["measure"], facts.number("as_long_factor")
    if measure == "call":
        text = f"{facts['worker']} takes {facts['as_long_factor']} as long per call as {peers} in {node}"
    elif measure == "wait":
        verb = "waits" if facts.number("peers") == 1 else "wait"
        text = f"{facts['worker']} arrives last at {node}: {peers} {verb} {formatted('_factor', 1 / factor)} as long"
    elif measure == "between":
        text = f"{facts['worker']} takes {facts['as_long_factor']} as long as {peers} between its waits in {node}"
    else:
        text = f"{facts['worker']} has {facts['as_long_factor']} as much to do as {peers} in {node}"
    if "waiting_role" in facts:
        number = facts.number("waiting_workers")
        waiting = facts["waiting_role"] if number == 1 else f"{number:,.0f} × {facts['waiting_role']}"
        limit = "" if facts["known_by"] == "wake edges" else "up to "
        verb = "waits" if number == 1 else "wait"
        text += f"; {waiting} {verb} for it {limit}{facts['waited_for_it_share']} of the time in {facts['waited_in']}"
    if "more_stragglers" in facts:
        text += f"; {counted(round(facts.number('more_stragglers')), 'other worker')} also straggle"
        text += "s" if facts.number("more_stragglers") == 1 else ""
    return text


def imbalance(facts: FactText) -> str:
    factor = formatted("_factor", facts.number("busy_ns") / facts.number("mean_busy_ns"))
    return (
        f"Share the work of {facts['workers']} × {facts['role']} more evenly: {facts['busiest']} is busy {factor} as "
        "long as they are on average"
    )


def idle_worker(facts: FactText) -> str:
    idle, workers = facts.number("idle_workers"), facts.number("workers")
    name = f"{workers:,.0f} × {facts['role']}"
    if idle == 1:
        name = facts["worker"] if "worker" in facts else facts["role"]
    elif idle < workers:
        name = f"{idle:,.0f} of {name}"
    verb, their = ("waits", "its") if idle == 1 else ("wait", "their")
    text = f"{name} {verb} {facts['waited_share']} of {their} time, most of it in {facts.name}"
    for prefix, joint in (("", ":"), ("second_", " and")):
        if f"{prefix}woken_by" in facts:
            section = f" in {facts[f'{prefix}woken_in']}" if facts.path(f"{prefix}woken_in") else ""
            by = facts[f"{prefix}woken_by"]
            text += f"{joint} {facts[f'{prefix}woken_by_share']} of that for {by}{section}"
    if facts.name == LOADER_WAIT:
        text += "; give the DataLoader more workers (num_workers) or a larger prefetch_factor"
    elif facts.finding.kind == "recommendation" and "woken_by" in facts:
        text += f"; overlap the two: let {name} continue with the last result while {facts['woken_by']} works"
    return text


def lock_convoy(facts: FactText) -> str:
    if "line" in facts:
        return (
            f"Hold the lock of {facts['line']} for less time: {facts.loop} waits for it there "
            f"{facts['in_line_ns']} per tick, {facts['in_line_share']} of {facts.name} [sampled]"
        )
    return (
        f"Do less while the lock of {facts.name} is held, or give each worker its own lock: of "
        f"{facts['workers']} × {facts['role']}, {facts.number('waiting_workers'):.1f} wait for it at any moment, "
        f"{facts['for_peers_share']} of that until one of them lets it go"
    )


def late_wake(facts: FactText) -> str:
    delay = (
        f"one tick in a hundred of {facts.name} takes {facts['p99_ns']} or more, where its rate allows "
        f"{facts['budget_ns']} and it works for {facts['busy_per_tick_ns']}"
    )
    if "function" in facts:
        return (
            f"Run {facts['function']} in another process, or less often: it holds the interpreter (GIL) at "
            f"{facts['line']} [sampled] when the loop should wake, and {delay}"
        )
    return f"{delay}: it sleeps until the next is due, and the system wakes it late"


def blocked_event_loop(facts: FactText) -> str:
    return (
        f"Await what {facts['function']} waits for, or call it by asyncio.to_thread: at {facts['line']} it waits for "
        f"{facts['blocked_share']} of the run inside the event loop, and no other task runs meanwhile [sampled]"
    )


def gil(facts: FactText) -> str:
    return (
        f"Run {facts['function']} in another process, or less often: {facts.tick} waits "
        f"{facts['waited_share']} of its time for the interpreter (GIL), which that thread holds at {facts['line']} "
        "[sampled]"
    )


def uneven_tasks(facts: FactText) -> str:
    return (
        f"Start the longest tasks first, split them, or continue without the last (as_completed): one call of "
        f"{facts['section']} in ten takes {facts['long_call_ns']}, half of them {facts['typical_call_ns']}; "
        f"{facts['workers']} × {facts['role']} work {facts['worked_ns']} each, and {facts['waited_ns']} is waited for "
        "them"
    )


def transport(facts: FactText) -> str:
    if "blocked_share" in facts:
        return (
            f"Send less through the queue (smaller types, only what is used), or share the memory: {facts.tick} waits "
            f"{facts['waited_share']} of its time at {facts['section']}, while {facts['role']} waits "
            f"{facts['blocked_share']} of its time until an item is taken: the time goes into passing them on"
        )
    if facts.name == LOADER_WAIT:
        return (
            f"Load batches in the process of {facts.loop}, DataLoader(..., num_workers=0): the workers are busy for "
            f"{facts['worked_per_tick_ns']} per tick together, and it waits {facts['blocked_per_tick_ns']} for them"
        )
    return (
        f"Do the work of {facts['workers']} × {facts['role']} in the process of {facts.loop}{_vector_class(facts)}, "
        f"or give each worker more per message: they are busy for {facts['worked_per_tick_ns']} per tick together, "
        f"and {facts['section']} waits {facts['blocked_per_tick_ns']} to send to them and for them"
    )


def _vector_class(facts: FactText) -> str:
    """Return the class of the program's library that does that, if the library is known."""
    if "AsyncVectorEnv" in facts["role"]:
        return " (SyncVectorEnv instead of AsyncVectorEnv)"
    if facts.name.startswith("VecEnv "):  # as the instrument of stable-baselines3 calls it
        return " (DummyVecEnv instead of SubprocVecEnv)"
    return ""


def memory_growth(facts: FactText) -> str:
    per_tick = ""
    if "growth_per_tick_bytes" in facts:
        per_tick = f", {facts['growth_per_tick_bytes']} per tick of {facts.loop}"
    if "full_in_ns" in facts:
        return (
            f"Look for what is kept (losses with their graph, lists, caches): the run's memory grows by "
            f"{facts['growth_bytes_per_s']}{per_tick}, and at that pace the machine's is full in {facts['full_in_ns']}"
        )
    return (
        f"the run's memory grows by {facts['growth_bytes_per_s']}{per_tick}, in {facts['rising_share']} of its "
        f"seconds, and is {facts['resident_bytes']} at the end: unless that is a buffer that is filled by plan, look "
        "for what is kept"
    )


def starved(facts: FactText) -> str:
    if "role" in facts:
        return f"Make items faster, or in more workers: {_wait(facts)}"
    return f"Fill {facts['gauge']} faster: it is 0 in {facts['empty_share']} of its readings"


def full_queue(facts: FactText) -> str:
    return f"Take items faster, in more workers, or leave some out: {_wait(facts)}"


def _wait(facts: FactText) -> str:
    line = f" ({facts['line']} [sampled])" if "line" in facts else ""
    hotspot = f", most of whose time is in {facts['function']}{line}" if "function" in facts else ""
    return f"{facts.tick} waits {facts['waited_share']} of its time at {facts['section']} for {facts['role']}{hotspot}"


def oversubscribed(facts: FactText) -> str:
    others = ""
    if facts.number("cores_used_by_others") >= 0.05:
        others = f", of which others use {facts.number('cores_used_by_others'):.1f}"
    return (
        f"{_thread_remedy(facts)}: {facts.number('busy_threads'):.1f} busy threads share {facts.number('cores'):g} "
        f"cores{others}, and wait for one {facts['waiting_share']} of the time they could run"
    )


def _thread_remedy(facts: FactText) -> str:
    remedy = _fewer_threads(facts)
    if "vector_workers" not in facts:
        return remedy
    limit = f"max_concurrency={max(1, round(facts.number('cores')))}"
    return f"Give AsyncVectorEnv {limit} (gymnasium 1.4 and later), or {remedy[0].lower()}{remedy[1:]}"


def _fewer_threads(facts: FactText) -> str:
    threads, processes = facts.number("busy_threads"), facts.number("processes")
    is_one = facts["threads_per_library"] == "one"
    # There are cores for all threads, apart from those that other processes use.
    if (is_one or 1 < processes >= threads) and threads <= facts.number("cores") + MARGIN_CORES:
        return "Measure on an idle machine, or pin the run to cores of its own"
    if is_one:
        if processes > 1:
            return f"Start fewer worker processes than {facts['processes']}, each of which runs one thread already"
        return "Start fewer threads; numerical libraries run one each already"
    now = f"; {facts['variable']} is {facts['variable_value']} now" if "variable" in facts else ""
    if processes > 1:
        advice = f"run one thread (OMP_NUM_THREADS=1{now})"
        return f"Let each of {facts['processes']} processes {advice}, or start fewer of them"
    torch = "torch.set_num_threads(1) or " if facts.number("uses_torch") else ""
    return f"Use one thread fewer ({torch}OMP_NUM_THREADS=1, and OMP_WAIT_POLICY=PASSIVE{now})"


def contended(facts: FactText) -> str:
    if facts["by"] == "hypervisor":
        return (
            "in the worst quarter of the run's seconds, the hypervisor gives at least "
            f"{facts['stolen_share']} of this virtual machine's time to others: nothing in the program can change that"
        )
    total = f" of {facts.number('cores'):g} cores" if "cores" in facts else " cores"
    return (
        f"in the worst quarter of its seconds, the run waits for a core for at least {facts['waiting_share']} of the "
        f"time it could run, and other processes use {facts.number('cores_used_by_others'):.1f}{total}: measure on an "
        "idle machine, or pin the run to cores that nothing else uses"
    )


def throttled(facts: FactText) -> str:
    if "gpu" in facts:
        return (
            f"GPU {facts['gpu']} was slowed down for its heat or its power limit {facts['slowed_share']} of the time: "
            "improve its cooling, raise its power limit, or run less on it"
        )
    reasons = []
    if "slow_share" in facts:
        reasons.append(
            f"busy cores ran at {facts.number('slow_mhz'):,.0f} MHz instead of {facts.number('best_mhz'):,.0f} MHz "
            f"for {facts['slow_share']} of the time"
        )
    if "slow_downs_per_s" in facts:
        reasons.append(
            f"the system slowed cores down for their heat {facts.number('slow_downs_per_s'):.1f} times per second"
        )
    return f"{', and '.join(reasons)}: improve cooling, keep fewer cores busy, or fix a lower frequency"


def drift(facts: FactText) -> str:
    return (
        f"{facts['changed_loop']} becomes {_slower(facts)} during the run: {facts['tick_before_ns']} per tick at "
        f"first, {facts['tick_after_ns']} at the end{_explained(facts)}"
    )


def phase_change(facts: FactText) -> str:
    lasts = "until_ns" not in facts
    end = "of the run on" if lasts else f"to {facts['until_ns']} of the run"
    period = f"from {facts['from_ns']} {end}"
    before = f"{facts['tick_before_ns']} {'before' if lasts else 'otherwise'}"
    ticks = f"{facts['tick_after_ns']} per tick, {before}"
    return f"{facts['changed_loop']} is {_slower(facts)} {period}: {ticks}{_explained(facts)}"


def _slower(facts: FactText) -> str:
    return "slower" if facts.number("tick_after_ns") > facts.number("tick_before_ns") else "faster"


def _explained(facts: FactText) -> str:
    text = ", in no single section"
    if "section" in facts:
        text = f"; {facts['section']} explains {facts['explained_share']} of that"
    return text + _doubt(facts, "the change")


def garbage_collection(facts: FactText) -> str:
    reasons = []
    if facts.number("gc_share") >= 0.02:
        reasons.append(f"takes {facts['gc_share']} of {facts.loop if facts.finding.path else 'the run'}")
    if "of_worst_ticks" in facts:
        loop = "" if reasons else f" of {facts.loop}"
        reasons.append(
            f"makes {facts['of_worst_ticks']} of the {facts['worst_ticks']} worst ticks{loop}, with pauses of up to "
            f"{facts['longest_pause_ns']}"
        )
    advice = "Call gc.freeze() after set-up, and gc.set_threshold(50_000)"
    return f"{advice}: the garbage collector {' and '.join(reasons)}"

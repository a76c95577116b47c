"""Messages of findings about code: copies, memory, declared work, PyTorch, robot policies, large sections."""

from __future__ import annotations

from collections.abc import Mapping

from ticktree.analysis.rules.torch import EMPTYING
from ticktree.analysis.server_side import SERVER
from ticktree.outputs.sentences.facts import FactText
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.formatting import counted
from ticktree.profile import noted_lines as lines

# Calls grow if they take twice as long: noise and other load rarely double the mean of a third of a run.
GROWS_FACTOR = 2.0


def slow_loader(facts: FactText) -> str:
    if "starts" in facts:
        return (
            "Keep the loader's workers between epochs, DataLoader(..., persistent_workers=True), or load without "
            f"(num_workers=0): they are started {facts['starts']} times, for {facts['per_start_ns']} each, and with "
            f"the wait for their first batches that is {facts['start_share']} of {facts.tick}"
        )
    return (
        f"Load batches in other processes, DataLoader(..., num_workers={facts['workers']}, persistent_workers=True): "
        f"{facts.loop} loads them itself, for {facts['load_per_tick_ns']} per tick, {facts['load_share']} of it"
    )


def small_minibatches(facts: FactText) -> str:
    return (
        f"Use larger minibatches, if learning allows: {facts.tick} has {facts['steps_per_tick']} gradient steps of "
        f"{facts['per_step_ns']} (backward pass and optimizer), {facts['steps_share']} of it, and one of twice as "
        "many samples takes little longer"
    )


def pageable_copies(facts: FactText) -> str:
    return (
        "Copy to the GPU from pinned memory with non_blocking=True (DataLoader(..., pin_memory=True), or a buffer of "
        f"torch.empty(..., pin_memory=True)): {facts['section']} copies "
        f"{facts['copied_per_call_bytes']} from pageable memory per call, and waits {facts['per_call_ns']} for it"
    )


def gpu_wait(facts: FactText) -> str:
    used = f"the GPU is in use {facts['gpu_used_share']} of the time"
    if facts["kind"] == EMPTYING:
        return (
            "Do not call torch.cuda.empty_cache() in each tick: it takes "
            f"{facts['waited_per_tick_ns']} of {facts.tick}, and what it gives back is allocated again; {used}"
        )
    waits = counted(round(facts.number("waits_per_tick")), "wait")
    return (
        "Ask the GPU for numbers less often (item(), float(), torch.cuda.synchronize()): keep them as tensors, and "
        f"read them every hundredth tick: {waits} for it take {facts['waited_per_tick_ns']} of {facts.tick}, "
        f"and {used}"
    )


def anomaly_detection(_facts: FactText) -> str:
    return (
        "Switch anomaly detection off (torch.autograd.set_detect_anomaly) unless you look for a NaN: it keeps a "
        "traceback of each operation and checks each gradient"
    )


def unused_gradients(facts: FactText) -> str:
    unused = "some of its gradients"
    if "unused_share" in facts:
        unused = f"{facts['unused_share']} of its gradients"
    time = f" and take {facts['unused_time_share']} of its time" if "unused_time_share" in facts else ""
    line = f" at {facts['line']}" if "line" in facts else ""
    frozen = (
        f"that {facts['section']} does not update during its backward pass{line} (requires_grad_(False))"
        if "section" in facts
        else f"that the step after the backward pass{line} does not update (requires_grad_(False) during it)"
    )
    return (
        f"Freeze the parameters {frozen}: {unused} are cleared unused{time}, and the pass is {facts['tick_share']} "
        f"of {facts.tick}"
    )


# For each kind of line, the advice, and what the line does.
_LINES: Mapping[str, tuple[str, str]] = {
    lines.DEEP_COPY: ("Copy only the parts that change, or share what does not", "the deep copy at"),
    lines.JSON: ("Write only what is new as JSON, or write it less often", "the JSON made at"),
    lines.PICKLE: ("Pickle only what is new, or do so less often", "the pickle made at"),
    lines.PROGRAM: ("Keep one program running, or call a library instead", "the program started at"),
    lines.GROWING_ARRAY: (
        "Write into an array that is allocated once, or join a list of the parts at the end",
        "the array that grows, and is copied for it, at",
    ),
    lines.ARRAY_OF_LIST: (
        "Keep stored items in one preallocated array and index batches out of it",
        "the array made of a list at",
    ),
    lines.ELEMENT_LOOP: (
        "Compute with whole arrays instead of with one element after the other",
        "the loop over elements at",
    ),
    lines.PERMUTATION: (
        "Draw only as many indices as are used (integers, or choice(replace=False) of default_rng)",
        "the permutation at",
    ),
    lines.COMMIT: ("Commit once for many rows", "the commit at"),
    lines.EAGER_LOG: (
        "Let logging format what it logs (log.debug('%s', x)), or ask isEnabledFor before",
        "the f-string made for a log at",
    ),
    lines.COLLECT: (
        "Leave garbage collection to Python, or call gc.freeze() after set-up",
        "gc.collect() at",
    ),
    lines.CONVERSION: (
        "Convert once, into the type and layout that are used",
        "converting arrays in several lines, as",
    ),
    lines.DEQUE: (
        "Keep what is drawn from in a list: a deque searches each item from its nearer end",
        "drawing from a deque at",
    ),
    lines.POLL: (
        "Wait for what the loop polls for, as result(), get(), wait() and join() do, and do not sleep",
        "the sleep at",
    ),
    lines.TABLE_ROW: (
        "Take the columns out of the table once, as arrays (to_numpy()), and index these",
        "the row of a table at",
    ),
    lines.PARSED_JSON: (
        "Parse once what is used again, or keep numbers in arrays (np.save)",
        "the JSON parsed at",
    ),
    lines.ONE_BY_ONE: (
        "Stack the inputs and infer once for all of them",
        "the inference for one after the other at",
    ),
    lines.POOL: ("Keep one pool of workers and give it all the work", "the pool made, and ended, at"),
}


def hot_line(facts: FactText) -> str:
    advice, line = _LINES[facts["line_kind"]]
    section = f" in {facts.name}" if facts.finding.loop and facts.finding.path != facts.finding.loop else ""
    scope = "each tick" if facts.finding.loop else "the run"
    loop = f" of {facts.loop}" if facts.finding.loop else ""
    return (
        f"{advice}: {line} {facts['line']}{section} takes {facts['in_line_ns']} of {scope}{loop}, "
        f"{facts['tick_share']} of it [sampled]"
    )


def list_of_arrays(facts: FactText) -> str:
    if "line" in facts:
        return hot_line(facts)
    return (
        f"Keep stored items in one preallocated array and index batches out of it: {facts['section']} makes an array "
        f"of {facts.number('items'):,.0f} items for each {facts['batch_section']}, {facts['per_batch_ns']} of its "
        f"{facts['batch_ns']}, at {facts['copied_bytes_per_s']}"
    )


def copied_twice(facts: FactText) -> str:
    return (
        f"Do {facts['section']} and {facts['other_section']} in one pass (out= of the first into the type that the "
        f"last one needs): both process {facts['per_call_bytes']} in {facts['parent']}, in {facts['in_section_ns']} "
        f"and {facts['in_others_ns']} per call"
    )


def allocation(facts: FactText) -> str:
    if "fresh_bytes_per_s" in facts:
        line = f" (most of it in {facts['function']}, {facts['line']} [sampled])" if "line" in facts else ""
        pages = facts.number("huge_pages_per_s")
        huge = f" and {pages:,.0f} huge pages" if pages >= 1 else ""
        return (
            f"Reuse memory (out=, copy_): the run{line} touches {facts['fresh_bytes_per_s']} of fresh memory "
            f"({facts.number('page_faults_per_s'):,.0f} page faults{huge} per second), which costs about "
            f"{facts['estimated_share']} of its time"
        )
    name = f", perhaps in {facts['section']} at {facts['section_bytes_per_s']}" if "section" in facts else ""
    return (
        f"Reuse memory across ticks (out=, copy_): each tick of {facts.loop} touches at least "
        f"{facts['fresh_memory_bytes']} of fresh memory ({facts.number('page_faults_per_tick'):,.0f} page faults)"
        f"{name}, which costs about {facts['estimated_cost_ns']} of {facts['tick_ns']}"
    )


def preprocessing(facts: FactText) -> str:
    proportion = f"{facts['busy_share']} of its busy time"
    if "of_inference_share" in facts:
        proportion = f"{facts['of_inference_share']} as long as its inference, where at most 20% is usual"
    size = f" for {facts['per_call_bytes']}" if "per_call_bytes" in facts else ""
    return (
        f"Prepare fewer or smaller inputs, in one pass into reused memory: preprocessing takes "
        f"{facts['preprocessing_per_tick_ns']} of the {facts['tick_ns']} of {facts.tick}, {proportion}, most of it in "
        f"{facts['section']} ({facts['per_call_ns']} per call{size})"
    )


def horizon(facts: FactText) -> str:
    actions = facts.number("wanted_actions_per_inference")
    return (
        f"Execute at least {actions:.0f} actions per inference: {facts['section']} ({facts['per_call_ns']}) serves "
        f"{facts.number('actions_per_inference'):.3g} ticks of {facts.loop}, which costs each of them "
        f"{facts['per_tick_ns']}, {facts['tick_share']} of the tick"
    )


def guidance(facts: FactText) -> str:
    if "empty_share" in facts:
        reason = f"and {facts['gauge']} is still 0 in {facts['empty_share']} of its readings"
    else:
        reason = (
            f"and {facts['gauge']} is rarely below {facts.number('low_in_queue'):.3g}, where an inference takes "
            f"{facts.number('inference_ticks'):.2g} ticks: there is time to execute the old chunk to its end"
        )
    return (
        f"Freeze or compile the policy while {facts['section']} guides it, or do without guidance: it takes "
        f"{facts['guidance_per_inference_ns']} of each inference of {facts['inference_ns']} "
        f"({facts['of_inference_share']}), {reason}"
    )


def queue_merge(facts: FactText) -> str:
    cost = f"{facts['section']} takes {facts['per_call_ns']} per call, {facts['tick_share']} of {facts.tick}"
    if "of_inference_share" in facts:
        cost += f" and {facts['of_inference_share']} as long as the inference it follows"
    # A merge that waits for more than half of its time waits for the other thread; otherwise it works.
    if facts.number("waited_share") > 0.5:
        return (
            f"Hold the queue's lock only to swap in the finished chunk: {cost}, and {facts['waited_share']} of that "
            "is waiting"
        )
    if facts.number("as_long_at_the_end_factor") >= GROWS_FACTOR:
        factor = facts["as_long_at_the_end_factor"]
        return (
            f"Drop executed actions, or use a ring of fixed size: {cost}, and {factor} as long at the end of the run "
            "as at its beginning"
        )
    return f"Write new chunks into a ring of fixed size instead of building the queue again: {cost}"


def blocking_writes(facts: FactText) -> str:
    return (
        f"Write to the disk in another thread, or every so many ticks: {facts.name} takes "
        f"{facts['per_tick_ns']} of each tick of {facts.loop}, in {facts['calls']} calls of {facts['per_call_ns']}"
    )


def evaluation(facts: FactText) -> str:
    return (
        f"Evaluate less often, or over fewer episodes: {facts['section']} takes {facts['tick_share']} of "
        f"{facts.tick}, in {facts['calls']} calls of {facts['per_call_ns']}"
    )


def buffer_copies(facts: FactText) -> str:
    size = f"{facts['per_call_bytes']} in " if "per_call_bytes" in facts else ""
    return (
        f"Keep only the actions still to do, in one preallocated tensor on the model's device: {facts['section']} "
        f"copies {size}{facts['per_call_ns']} for each inference, {facts['tick_share']} of {facts.tick}"
    )


def round_trip(facts: FactText) -> str:
    names = facts["section"] + (f" and {facts['second_section']}" if "second_section" in facts else "")
    waits = f" ({facts['waited_share']} of {facts['section']} is waiting)" if "waited_share" in facts else ""
    calls = facts.number("calls_per_tick")
    frequency = f", {calls:.0f} calls per tick" if calls >= 1.5 else ""
    cost = (
        f"the round trip in {names} is {facts['busy_share']} of the busy time of {facts.loop}, "
        f"{facts['round_trips_per_tick_ns']} of {facts['needed_per_tick_ns']}{waits}{frequency}"
    )
    if facts.number("server_share") < 0.5:
        if "server_share" in facts:
            cost += f"; {100 - 100 * facts.number('server_share'):.0f}% of it is the network"
        return f"Request the next observation while this one is processed, and send less: {cost}"
    inside = ""
    if facts["server_part"] != SERVER:
        inside = f", {facts['server_part_share']} its {facts['server_part']}"
    return (
        f"Make the server faster, or request the next observation while this one is processed: {cost}; "
        f"{facts['server_share']} of it is the server's own time{inside}"
    )


def no_compilation(facts: FactText) -> str:
    return (
        f"Compile the policy (torch.compile), if torch runs it: {facts['section']} ({facts['per_call_ns']} per call) "
        f"is inference, {facts['busy_share']} of the busy time of {facts.loop}, and nothing is compiled"
    )


def impossible_rate(facts: FactText) -> str:
    kind = facts["kind"]
    name = facts["section"] + (f" in {facts['parent']}" if "parent" in facts else "")
    rate, ceiling = facts[f"declared_{kind}_per_s"], facts[f"ceiling_{kind}_per_s"]
    amount = f"{facts[f'per_call_{kind}']} in {facts['per_call_ns']} is {rate}"
    over = f"{facts['too_fast_factor']} the {ceiling} it can reach"
    if facts.number("gpus"):
        text = f"{name} is faster than this machine's processor can be: {amount}, {over}"
    elif not facts.number("is_certain"):
        text = f"{name} is faster than this machine can be in float32: {amount}, {over}; "
        text += "right only in bfloat16 or float16"
    else:
        text = f"{name} is faster than this machine can be: {amount}, {over}. {_wrong_work(facts)}"
    if "others" in facts:
        text += f"; the same holds for {facts['others']}"
        more = facts.number("more_sections") - len(facts["others"].split(", "))
        text += f" and {counted(round(more), 'more section')}" if more > 0 else ""
    return f"{text}; did the program wait for the GPU?" if facts.number("gpus") else text


def _wrong_work(facts: FactText) -> str:
    if facts["kind"] == "bytes":
        return "Probably nothing was copied (a view, shared memory), or the call returned before the copy was done"
    batch = ""
    if "items" in facts:
        possible = facts.number("possible_items")
        at_most = f"{possible:,.0f}" if possible >= 0.95 else "less than 1"
        batch = f" ({at_most} instead of {facts.number('items'):,.0f})"
    return f"Probably the call returned before the work was done, or the batch size is wrong{batch}"


def slow_rate(facts: FactText) -> str:
    kind, section = facts["kind"], facts["section"]
    verb, measure = ("moves", "copies memory") if kind == "bytes" else ("does", "multiplies matrices")
    remedy = {
        ("bytes", "small calls"): f"Process more per call of {section}",
        ("bytes", "memory access"): f"Let {section} write into reused memory, in the order of that memory",
        ("flops", "one thread"): f"Let {section} use more threads, if cores are free",
        ("flops", "small calls"): f"Use larger batches and fewer calls of {section}",
        ("flops", "layout"): f"Check the batch size, dtype and memory layout of {section}",
    }[kind, facts["reason"]]
    text = (
        f"{remedy}: it {verb} {facts[f'per_call_{kind}']} in {facts['per_call_ns']}, "
        f"{facts[f'declared_{kind}_per_s']}, and this machine {measure} {facts['slower_factor']} as fast "
        f"({facts[f'ceiling_{kind}_per_s']})"
    )
    if "more_sections" in facts:
        text += f"; {counted(round(facts.number('more_sections')), 'other section')} there "
        text += "is also slow" if facts.number("more_sections") == 1 else "are also slow"
    return text


def critical(facts: FactText) -> str:
    return f"{_self_time(facts)} takes {facts['self_share']} of {facts.tick}{_without(facts)}"


def slow(facts: FactText) -> str:
    return f"{_self_time(facts)} takes {facts['self_per_call_ns']} per call{_without(facts)}"


def _self_time(facts: FactText) -> str:
    return f"{facts['section']} [self]" if facts.number("is_self_time") else facts["section"]


def _without(facts: FactText) -> str:
    """Return the tick without a section; "" if the loop holds its rate, or nothing would remain of the tick."""
    saving = facts.finding.saving
    if saving is None or saving.speedup is None or saving.share <= 0 or saving.limited_by_rate:
        return ""
    free, needed = formatting.time(saving.free_ns), formatting.time(saving.needed_ns)
    return f"; without it {facts.tick} would take {free} instead of {needed}"


def memory(facts: FactText) -> str:
    bound = "" if facts.number("is_exact") else "at least "
    gpu = f" of {facts['devices']}" if "devices" in facts else ""
    return f"a call of {facts['section']} needs {bound}{facts['needed_bytes']}{gpu} beyond what was allocated before"


def recompilation(facts: FactText) -> str:
    return (
        f"Have {facts['function']} compiled once: it was compiled {facts.number('compilations'):,.0f} times "
        f"({facts['reason']}), which took {facts['recompiling_ns']} after the first time"
    )


def late_compilation(facts: FactText) -> str:
    calls = facts.number("recompilations")
    times = "once more" if calls == 1 else f"{calls:,.0f} more times"
    return (
        f"Avoid recompilation in {facts['section']} (dynamic=True, torch._dynamo.mark_dynamic, or padding to a few "
        f"shapes): torch.compile compiles {times} after the warm-up of {facts['compiled_loop']}, for "
        f"{facts['recompiling_ns']} in total"
    )

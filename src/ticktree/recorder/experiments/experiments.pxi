# Experiments: the ledger, for their planner and their participants.

LEDGER_NAME = "experiments.ttx"  # run/memory.py removes it with the memory files
MOST_TARGETS = TT_TARGETS  # sections in the experiments of a run
MOST_BLOCKS = TT_BLOCKS


def begin_experiments(Recorder recorder not None, path):
    """Lets this process, and processes forked from it, take part in the experiments of a run.

    Args:
        recorder: What records here.
        path: The ledger's file, which the supervisor has created.

    Returns:
        Whether it takes part: False if the file cannot be used.
    """
    cdef bytes encoded = os.fsencode(path)
    return tt_experiment_begin(recorder.core, <const char*>encoded)


cdef class Ledger:
    """The plan of the experiments and their measurements; the supervisor of a run creates it.

    Args:
        path: The file to create, on tmpfs.

    Raises:
        OSError: If it cannot be created.
    """

    cdef tt_ledger* core

    def __cinit__(self, path):
        cdef bytes encoded = os.fsencode(path)
        self.core = tt_ledger_make(<const char*>encoded)
        if self.core == NULL:
            raise OSError(f"cannot make the ledger of experiments {path}")

    def __dealloc__(self):
        if self.core != NULL:
            tt_ledger_close(self.core)

    def begin(self, loop, targets, plans, *, rest_ticks, settle_ticks, block_ticks, block_most_ns):
        """Begins the experiments, once.

        Args:
            loop: The loop whose ticks are measured: the names of its path.
            targets: The sections: the names of their paths.
            plans: The blocks, in order and then again: (intervention, target, percent); intervention 0 for nothing, 1 for
                faster, 2 for slower.
            rest_ticks: Ticks before each block without an intervention.
            settle_ticks: Ticks at the beginning of a block that are not measured.
            block_ticks: Ticks of a block that are measured.
            block_most_ns: A block that takes longer is not measured.

        Raises:
            ValueError: If a limit is exceeded, or the experiments have begun.
        """
        if self.core.is_on or self.core.plan_count:
            raise ValueError("the experiments have begun")
        if not 0 < len(targets) <= TT_TARGETS or not 0 < len(plans) <= TT_BLOCKS:
            raise ValueError(f"1 to {TT_TARGETS} sections and 1 to {TT_BLOCKS} blocks can be planned")
        for i, names in enumerate((*targets, loop)):
            text = b"".join(name.encode("utf-8", "surrogatepass") + b"\0" for name in reversed(names))
            if len(text) > TT_TARGET_TEXT:
                raise ValueError(f"the path {'/'.join(names)} is too long")
            memcpy(self.core.targets[i].path, <const char*>text, len(text))
            self.core.targets[i].length = len(text)
        for i, (intervention, target, percent) in enumerate(plans):
            self.core.plans[i].intervention, self.core.plans[i].target = intervention, target
            self.core.plans[i].percent = percent
        self.core.target_count, self.core.plan_count = len(targets), len(plans)
        self.core.rest_ticks = max(1, rest_ticks)
        self.core.settle_ticks, self.core.block_ticks = max(1, settle_ticks), block_ticks
        self.core.block_most_ns = block_most_ns
        tt_ledger_begin(self.core)

    def watch(self, until_ns):
        """Declares a watcher until then: no block intervenes later.

        Args:
            until_ns: Of CLOCK_MONOTONIC; later than a block that begins now may last.
        """
        self.core.watch_until_ns = until_ns

    def stop(self):
        """Ends the experiments: no thread pauses any more."""
        tt_ledger_stop(self.core)

    def blocks(self):
        """Returns the measurements, one per block: (intervention, target, percent, ticks, began_ns, ended_ns, owed_ns,
        delayed_ns, forgiven_ns, half_ns, half_owed_ns, (spent_ns of each section))."""
        cdef tt_block* block
        rows = []
        for i in range(self.core.block_count):
            block = &self.core.blocks[i]
            rows.append((
                block.plan.intervention, block.plan.target, block.plan.percent, block.ticks, block.began_ns,
                block.ended_ns, block.owed_ns, block.delayed_ns, block.forgiven_ns, block.half_ns, block.half_owed_ns,
                tuple(block.spent_ns[target] for target in range(self.core.target_count)),
            ))
        return rows

    def calls(self):
        """Returns per section: its calls, further calls that may have slept, and of the calls' time what can get faster and
        all of it without waits for other threads."""
        cdef tt_target* target
        rows = []
        for i in range(self.core.target_count):
            target = &self.core.targets[i]
            rows.append((target.calls, target.sleeping_calls, target.spent_ns, target.lasted_ns))
        return rows

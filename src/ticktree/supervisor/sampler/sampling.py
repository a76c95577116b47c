"""Sample a run: find its processes, adapt the rate, and save the samples."""

from __future__ import annotations

import errno
import mmap
import os
import struct
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ticktree.errors import reason
from ticktree.files.owner import process_start, stat_fields
from ticktree.run.free_memory import require_free_memory
from ticktree.run.memory import ProcessKey, memory_files, process_key
from ticktree.supervisor.sampler._remote import NativeSampler, own_addresses, read_error
from ticktree.supervisor.sampler.lines import CodeLines

if TYPE_CHECKING:
    from ticktree.run.observations import StackSamples, ThreadSample
    from ticktree.supervisor.sampler._remote import Code

DEFAULT_HZ = 100.0
# How much of a core sampling may take.
MAX_SHARE = 0.01
# If samples were not requested and sections explain most of the time, sampling only checks that this remains true: at
# this rate, with a decision every few seconds.
_MIN_HZ = 2.0
_ADAPT_EVERY_S = 5.0
_MIN_OUTSIDE_SHARE = 0.5  # of the main thread's time, outside all sections
# The same for the self time of ticks, of its time in sections: if ticks are an env's or an optimizer's steps, this is
# all of the program's own code, and often the longest row of its loop.
_MIN_TICKS_SHARE = 0.25

_HEAD = struct.Struct("=IIQIIII")
_KEY = struct.Struct("=IIII")
_KEY_OFFSET = 16
_MAX_STACKS = 100_000  # different stacks: some 100 MB
_START_SCANS, _START_SCAN_PAUSE_S = 20, 0.002
_STACK_START_FIELD = 25  # index in `stat_fields`
_NOT_RECORDING = 2**32 - 1  # instead of a node
# The shared header of a process that samples itself (sampler.h, `tt_shared`): bytes written and read, instants, late
# instants, their CPU time, and the drops by cause. The ring follows it.
_SHARED = struct.Struct("=9Q56x")
_READ_OFFSET = 8
_RING_BYTES = 1 << 18
_CODE = struct.Struct("=IIiIIIII")
_CODE_RECORD = 2**32 - 1  # instead of a process
_ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
_OWN_PACKAGE = os.fspath(Path(__file__).parents[2]) + os.sep
# Frames between a line and the module that it imports or runs.
_IMPORT_MACHINERY = ("<frozen importlib", "<frozen runpy>", "<frozen zipimport>")


class _Record(NamedTuple):
    """The native module's record of one stack (sampler.h, `tt_stack_record`)."""

    process: int  # its id in the native module
    weight_ns: int  # the time that the stack represents
    key: bytes  # the remaining bytes, equal for equal stacks


class _Program(NamedTuple):
    """A program that a process runs: the start of its stack identifies it; its number among the programs, from 1."""

    stack_start: bytes
    incarnation: int


class Sampling:
    """Samples the processes of a run while it continues.

    It imports slow modules only after the program has started.

    Args:
        folder: the run's memory directory.
        hz: the highest rate; None for 100 times per second, and only while sections do not explain most of the time.
        seed: seed of the random intervals; None for one from the system.
        is_attached: whether the program was not started by us: then samples count even while it does not record.
        is_inside: whether the processes sample themselves.
    """

    def __init__(
        self,
        folder: Path,
        hz: float | None = None,
        seed: int | None = None,
        *,
        is_attached: bool = False,
        is_inside: bool = False,
    ) -> None:
        self._folder = folder
        self._is_attached = is_attached
        self._is_inside = is_inside
        self._rings: dict[int, _Ring] = {}
        self._hz = hz or DEFAULT_HZ
        self._is_requested = hz is not None
        seed = int.from_bytes(os.urandom(8), "little") if seed is None else seed
        self._native = NativeSampler(1 / self._hz, MAX_SHARE, seed)
        self._processes: dict[int, ProcessKey] = {}
        self._known_processes: set[ProcessKey] = set()
        self._programs: dict[tuple[int, int], _Program] = {}
        self._main_process: ProcessKey | None = None
        self._codes: list[Code] = []
        self._lines: dict[Code, CodeLines] = {}
        self._weights: dict[tuple[int, bytes], tuple[int, int]] = {}
        self._samples_by_stack: dict[tuple[int, bytes], ThreadSample] = {}
        self._drops: tuple[int, ...] = ()
        self._overflow_drops = 0
        self._instants = self._late_instants = self._cpu_ns = 0
        self._main_thread_ns: Counter[int] = Counter()  # since the last `_adapt_rate`, by node
        self.refused = self.unsaved = ""

    def begin(self, pid: int) -> None:
        """Begin to sample a program that has just started, at the priority of the calling thread.

        Raises:
            OSError: No thread can be started.
        """
        start = process_start(pid)
        if start is None:
            return
        self._main_process = ProcessKey(pid, start, 1)
        if self._is_inside:
            return
        self._native.start()
        # The process is known a moment before its memory is mapped.
        for _ in range(_START_SCANS):
            self.look()
            if self._main_process in self._known_processes:
                break
            time.sleep(_START_SCAN_PAUSE_S)

    def is_alive(self) -> bool:
        """Return whether the program passed to `begin` still runs."""
        return (
            self._main_process is not None
            and process_start(self._main_process.pid) == self._main_process.start
        )

    def look(self) -> None:
        """Take the samples since the last call, and find processes of the run that are not sampled yet."""
        self._collect()
        if not self._is_requested:
            self._adapt_rate()
        if self._main_process is None or self._is_inside:
            return
        incarnations = Counter(process_key(file)[:2] for file in memory_files(self._folder))
        for pid in (self._main_process.pid, *_descendants(self._main_process.pid)):
            start, fields = process_start(pid), stat_fields(pid)
            if start is None or not fields:
                continue
            # The start of the stack distinguishes the programs that a process runs one after another.
            stack_start = fields[_STACK_START_FIELD]
            previous = self._programs.get((pid, start))
            if previous is None or previous.stack_start == stack_start:
                incarnation = previous.incarnation if previous else 1
            else:
                incarnation = max(previous.incarnation + 1, incarnations[pid, start])
            self._programs[pid, start] = _Program(stack_start, incarnation)
            self._add(ProcessKey(pid, start, incarnation))

    def keep(self) -> StackSamples | None:
        """Save all samples with the run.

        Returns:
            All samples; None if there are none.
        """
        self._collect()
        if not self._weights and not any(self._drops):
            return None
        require_free_memory()
        from ticktree.run.observations import write_samples

        sampled = self._result()
        try:
            write_samples(self._folder, sampled)
        except OSError as error:  # a full tmpfs: the next call may succeed
            self.unsaved = reason(error)
        else:
            self.unsaved = ""
        return sampled

    def end(self) -> StackSamples | None:
        """Stop, save the remaining samples, and return all of them; None if there are none."""
        self._native.stop()
        return self.keep()

    def _add(self, process: ProcessKey) -> None:
        if process in self._known_processes:
            return
        try:
            runtime, code_type = find_addresses(process.pid)
        except (OtherInterpreterError, OSError):
            return  # it may still be loading its interpreter
        error = read_error(process.pid, runtime)
        if error in (errno.EPERM, errno.ENOSYS):
            self._known_processes.add(process)
            self.refused = os.strerror(error)
            return
        path = os.fsencode(self._folder / f"{process}.tt")
        serial = self._native.add(process.pid, path, runtime, code_type)
        self._known_processes.add(process)  # if there is no space for it, do not try again
        if serial:
            self._processes[serial] = process

    def _collect(self) -> None:
        records, codes, counts = self._native.take()
        self._instants, self._late_instants, self._drops, self._cpu_ns = counts
        self._codes += codes
        self._count_records(_records(records))
        if self._is_inside:
            self._collect_from_rings()

    def _collect_from_rings(self) -> None:
        for path in self._folder.glob("*.ring"):
            process = ProcessKey(*map(int, path.stem.split("-")))
            if process not in self._known_processes:
                self._known_processes.add(process)
                serial = len(self._known_processes)
                self._processes[serial], self._rings[serial] = process, _Ring(path, serial)
        for ring in self._rings.values():
            process = self._processes[ring.serial]
            has_ended = process_start(process.pid) != process.start
            self._count_records(_records(ring.take()))
            self._instants += ring.instants
            self._late_instants += ring.late_instants
            self._cpu_ns += ring.cpu_ns
            self._drops = tuple(map(sum, zip(self._drops, ring.drops, strict=True)))
            if has_ended:
                ring.close()

    def _count_records(self, records: Iterable[_Record]) -> None:
        for record in records:
            thread, node, _, _ = _KEY.unpack_from(record.key)
            process = self._processes[record.process]
            if node == _NOT_RECORDING and process == self._main_process and not self._is_attached:
                continue  # before the run's time, or while recording is off
            stack = (record.process, record.key)
            if stack not in self._weights and len(self._weights) >= _MAX_STACKS:
                self._overflow_drops += 1
                continue
            count, ns = self._weights.get(stack, (0, 0))
            self._weights[stack] = (count + 1, ns + record.weight_ns)
            if process == self._main_process and thread == process.pid:
                self._main_thread_ns[node] += record.weight_ns

    def _adapt_rate(self) -> None:
        """Sample less if sections explain most of the time."""
        total_ns = self._main_thread_ns.total()
        if total_ns < _ADAPT_EVERY_S * 1e9:
            return
        outside_ns = ticks_ns = 0
        for node, ns in self._main_thread_ns.items():
            if not node or not self._read_reference(node, "parent"):
                outside_ns += ns
            elif self._read_reference(node, "ticks"):
                ticks_ns += ns
        needs_samples = outside_ns > _MIN_OUTSIDE_SHARE * total_ns or ticks_ns > _MIN_TICKS_SHARE * (
            total_ns - outside_ns
        )
        self._native.set_interval(1 / (self._hz if needs_samples else _MIN_HZ))
        self._main_thread_ns.clear()

    def _read_reference(self, node: int, name: str) -> int:
        """Return a reference in a node of the main process, such as to its parent; 0 for none."""
        from ticktree.run.reading import layout

        offset = node * layout.LINE + layout.offset_of(layout.Node, name)
        try:
            with (self._folder / f"{self._main_process}.tt").open("rb") as file:
                return int.from_bytes(os.pread(file.fileno(), 4, offset), "little")
        except OSError:
            return 0  # its process has ended, and its file was folded

    def _result(self) -> StackSamples:
        from ticktree.profile.samples import DROPS, Weight
        from ticktree.run.observations import StackSamples

        stacks: dict[ThreadSample, Weight] = {}
        for (serial, key), (count, ns) in self._weights.items():
            if (serial, key) not in self._samples_by_stack:
                self._samples_by_stack[serial, key] = self._to_sample(serial, key)
            sample, weight = self._samples_by_stack[serial, key], Weight(count, ns)
            stacks[sample] = stacks[sample] + weight if sample in stacks else weight
        counts = (*self._drops[:-1], self._drops[-1] + self._overflow_drops)
        dropped = {name: count for name, count in zip(DROPS, counts, strict=True) if count}
        return StackSamples(
            stacks, dropped, self._late_instants, self._instants, self._cpu_ns, self._is_requested
        )

    def _to_sample(self, serial: int, key: bytes) -> ThreadSample:
        from ticktree.profile.samples import STATES, CodeLine
        from ticktree.run.observations import ThreadSample

        thread, node, state, depth = _KEY.unpack_from(key)
        codes = self._rings[serial].codes if serial in self._rings else self._codes
        numbers = struct.unpack_from(f"={2 * depth}I", key, _KEY.size)
        lines = tuple(
            CodeLine(code[0], code[1], self._line_at(code, offset))
            for code, offset in zip([codes[number] for number in numbers[::2]], numbers[1::2], strict=True)
            if not code[1].startswith((_OWN_PACKAGE, *_IMPORT_MACHINERY))
        )
        process = self._processes[serial]
        if node == _NOT_RECORDING:
            node = 0
        outside = "" if node else self._label_outside(process, thread)
        return ThreadSample(process, node, outside, STATES[state], lines)

    def _label_outside(self, process: ProcessKey, thread: int) -> str:
        """Return the label of time outside all sections; "" for the run's first thread, whose self time has it."""
        if process != self._main_process:
            return "other processes"
        return "" if thread == process.pid else "other threads"

    def _line_at(self, code: Code, offset: int) -> int:
        if code not in self._lines:
            _, _, first_line, table = code
            self._lines[code] = CodeLines(first_line, table)
        return max(0, self._lines[code].at(offset))


class _Ring:
    """The samples of a process that samples itself, in the file that it shares; `serial`: its id in records."""

    def __init__(self, path: Path, serial: int) -> None:
        self._path = path
        with path.open("r+b") as file:
            self._memory: mmap.mmap | None = mmap.mmap(file.fileno(), _SHARED.size + _RING_BYTES)
        self.serial = serial
        self.codes: list[Code] = []
        self.instants = self.late_instants = self.cpu_ns = 0
        self.drops: tuple[int, ...] = (0,) * 4

    def take(self) -> bytes:
        """Return the process's records since the last call, and add their code objects to `codes`."""
        memory = self._memory
        if memory is None:
            return b""
        written, read, self.instants, self.late_instants, self.cpu_ns, *drops = _SHARED.unpack_from(memory)
        self.drops = tuple(drops)
        start, length = _SHARED.size + read % _RING_BYTES, written - read
        data = memory[start : start + length]
        data += memory[_SHARED.size : _SHARED.size + length - len(data)]
        struct.pack_into("=Q", memory, _READ_OFFSET, written)
        return b"".join(self._without_codes(data))

    def close(self) -> None:
        """Free the memory of a process that has ended and whose records were taken."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None
            self._path.unlink(missing_ok=True)

    def _without_codes(self, data: bytes) -> Iterator[bytes]:
        position = 0
        while position < len(data):
            length, process, first_line, *parts = _CODE.unpack_from(
                data.ljust(position + _CODE.size), position
            )
            if process == _CODE_RECORD:
                name_bytes, name_kind, file_bytes, file_kind, table_bytes = parts
                file_at = position + _CODE.size + name_bytes
                name = data[file_at - name_bytes : file_at].decode(_ENCODINGS[name_kind], "replace")
                table_at = file_at + file_bytes
                file = data[file_at:table_at].decode(_ENCODINGS[file_kind], "replace")
                self.codes.append((name, file, first_line, data[table_at : table_at + table_bytes]))
            else:
                yield (
                    data[position : position + 4]
                    + struct.pack("=I", self.serial)
                    + data[position + 8 : position + length]
                )
            position += length


def _records(data: bytes) -> Iterator[_Record]:
    position = 0
    while position < len(data):
        length, process, weight_ns, *_ = _HEAD.unpack_from(data, position)
        yield _Record(process, weight_ns, data[position + _KEY_OFFSET : position + length])
        position += length


def _descendants(pid: int) -> Iterator[int]:
    """Yield the children of a process, their children, and so on."""
    queue = [pid]
    while queue:
        tasks: list[Path] = []
        with suppress(OSError):  # it has ended
            tasks = list(Path(f"/proc/{queue.pop()}/task").iterdir())
        for task in tasks:
            with suppress(OSError):
                pids = [int(word) for word in (task / "children").read_text().split()]
                queue += pids
                yield from pids


# Addresses of the interpreter's data in another process: our own, shifted by the difference of the mappings.


class OtherInterpreterError(Exception):
    """The process does not run the same interpreter as we do, or has not loaded it yet."""


def find_addresses(pid: int) -> tuple[int, int]:
    """Return the addresses of `_PyRuntime` and `PyCode_Type` in a process.

    Raises:
        OtherInterpreterError: It does not run the same interpreter as we do; it may be about to.
        OSError: Its memory map cannot be read.
    """
    runtime, code_type = own_addresses()
    own_mappings, mappings = _mappings("self"), _mappings(str(pid))
    file = next(name for begin, end, name in own_mappings if begin <= runtime < end)
    own_base = min((begin for begin, _, name in own_mappings if name == file), default=0)
    base = min((begin for begin, _, name in mappings if name == file), default=None)
    if base is None:
        raise OtherInterpreterError(f"process {pid} does not run this Python")
    return runtime - own_base + base, code_type - own_base + base


def _mappings(process: str) -> list[tuple[int, int, str]]:
    """Return the mappings of a process: begin, end, and the file by device and inode.

    A file's zeroed data follow its mapping in anonymous memory; they count as the file's.
    """
    mappings: list[tuple[int, int, str]] = []
    with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - no file of ours
        for line in file:
            range_text, _, _, device, inode = line.split()[:5]
            begin, end = (int(number, 16) for number in range_text.split("-"))
            name = f"{device} {inode}"
            if inode == "0" and mappings and mappings[-1][1] == begin:
                name = mappings[-1][2]
            mappings.append((begin, end, name))
    return mappings

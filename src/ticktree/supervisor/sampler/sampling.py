"""Sample a run: find its processes, adapt the rate, and keep the samples."""

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
from ticktree.files.owner import start_of
from ticktree.run.memory import ProcessKey, memory_files, process_of
from ticktree.run.room import require_room
from ticktree.supervisor.sampler._remote import NativeSampler, own_addresses, read_error
from ticktree.supervisor.sampler.lines import CodeLines

if TYPE_CHECKING:
    from ticktree.run.observed import Sampled, ThreadSample
    from ticktree.supervisor.sampler._remote import Code

USUAL_HZ = 100.0
# The most of a core that samples may take.
MOST_SHARE = 0.01
# If samples were not requested and sections explain most of the time, sampling only checks that this stays true: at
# this rate, and with a decision every few seconds.
_WATCHING_HZ = 2.0
_JUDGE_EVERY_S = 5.0
_WORTH_IT = 0.5  # of the main thread's time, outside all sections
# The same for the self time of ticks, of its time in sections: if ticks are an env's or an optimizer's steps, this is
# all of the program's own code, and often the longest row of its loop.
_WORTH_IT_IN_TICKS = 0.25

_HEAD = struct.Struct("=IIQIIII")
_KEY = struct.Struct("=IIII")
_KEY_AT = 16
_MOST_STACKS = 100_000  # different stacks: some 100 MB
_LOOKS_AT_START, _BETWEEN_LOOKS_S = 20, 0.002
_START_OF_STACK = 25  # among the fields of /proc/PID/stat that follow the program's name
_NOT_RECORDING = 2**32 - 1  # instead of a node
# The shared header of a process that samples itself (sampler.h, `tt_shared`): bytes written and read, samples taken,
# late ones, their CPU time, and the drops by cause. The ring follows it.
_SHARED = struct.Struct("=9Q56x")
_READ_AT = 8
_RING_BYTES = 1 << 18
_CODE = struct.Struct("=IIiIIIII")
_CODE_RECORD = 2**32 - 1  # instead of a process
_ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
_OWN_PACKAGE = os.fspath(Path(__file__).parents[2]) + os.sep
# Frames between a line and the module that it imports or runs.
_MACHINERY = ("<frozen importlib", "<frozen runpy>", "<frozen zipimport>")


class _Record(NamedTuple):
    """The native module's record of one stack (sampler.h, `tt_stack_record`)."""

    process: int  # the native module's number of it
    weight_ns: int  # the time that the stack represents
    key: bytes  # the remaining bytes, equal for equal stacks


class _Program(NamedTuple):
    """A program of a process: the begin of its stack, and its number among the process's programs, from 1."""

    program: str
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
        self._hz = hz or USUAL_HZ
        self._is_requested = hz is not None
        seed = int.from_bytes(os.urandom(8), "little") if seed is None else seed
        self._native = NativeSampler(1 / self._hz, MOST_SHARE, seed)
        self._processes: dict[int, ProcessKey] = {}
        self._known: set[ProcessKey] = set()
        self._programs: dict[tuple[int, int], _Program] = {}
        self._first: ProcessKey | None = None
        self._codes: list[Code] = []
        self._lines: dict[Code, CodeLines] = {}
        self._weights: dict[tuple[int, bytes], tuple[int, int]] = {}
        self._named: dict[tuple[int, bytes], ThreadSample] = {}
        self._drops: tuple[int, ...] = ()
        self._without_room = 0
        self._looks = self._late = self._cpu_ns = 0
        self._main_ns: Counter[int] = Counter()  # of the main thread since the last `_judge`, by node
        self.refused = self.unsaved = ""

    def begin(self, pid: int) -> None:
        """Begin to sample a program that has just started, at the priority of the calling thread.

        Raises:
            OSError: No thread can be started.
        """
        started = start_of(pid)
        if started is None:
            return
        self._first = ProcessKey(pid, started, 1)
        if self._is_inside:
            return
        self._native.start()
        # The process is known a moment before its memory is mapped.
        for _ in range(_LOOKS_AT_START):
            self.look()
            if self._first in self._known:
                break
            time.sleep(_BETWEEN_LOOKS_S)

    def is_alive(self) -> bool:
        """Return whether the program passed to `begin` still runs."""
        return self._first is not None and start_of(self._first.pid) == self._first.start

    def look(self) -> None:
        """Take the samples since the last call, and find processes of the run that are not sampled yet."""
        self._take()
        if not self._is_requested:
            self._judge()
        if self._first is None or self._is_inside:
            return
        incarnations = Counter(process_of(file)[:2] for file in memory_files(self._folder))
        for pid in (self._first.pid, *_descendants(self._first.pid)):
            started, program = start_of(pid), _program_of(pid)
            if started is None:
                continue
            # The begin of the stack distinguishes the programs that a process runs one after another.
            last = self._programs.get((pid, started))
            if last is None or last.program == program:
                incarnation = last.incarnation if last else 1
            else:
                incarnation = max(last.incarnation + 1, incarnations[pid, started])
            self._programs[pid, started] = _Program(program, incarnation)
            self._add(ProcessKey(pid, started, incarnation))

    def keep(self) -> Sampled | None:
        """Keep all samples with the run.

        Returns:
            All samples; None if there are none.
        """
        self._take()
        if not self._weights and not any(self._drops):
            return None
        require_room()
        from ticktree.run.observed import keep_samples

        sampled = self._sampled()
        try:
            keep_samples(self._folder, sampled)
        except OSError as error:  # a full tmpfs: the next call may succeed
            self.unsaved = reason(error)
        else:
            self.unsaved = ""
        return sampled

    def end(self) -> Sampled | None:
        """Stop, keep the remaining samples, and return all of them; None if there are none."""
        self._native.stop()
        return self.keep()

    def _add(self, process: ProcessKey) -> None:
        if process in self._known:
            return
        try:
            runtime, code_type = addresses_in(process.pid)
        except (OtherInterpreterError, OSError):
            return  # it may still be loading its interpreter
        error = read_error(process.pid, runtime)
        if error in (errno.EPERM, errno.ENOSYS):
            self._known.add(process)
            self.refused = os.strerror(error)
            return
        path = os.fsencode(self._folder / f"{process}.tt")
        serial = self._native.add(process.pid, path, runtime, code_type)
        self._known.add(process)  # if there is no room for it, do not try again
        if serial:
            self._processes[serial] = process

    def _take(self) -> None:
        records, codes, (looks, late, drops, cpu_ns) = self._native.take()
        self._codes += codes
        self._looks, self._late, self._drops, self._cpu_ns = looks, late, drops, cpu_ns
        self._count(_records(records))
        if self._is_inside:
            self._take_from_inside()

    def _take_from_inside(self) -> None:
        for path in self._folder.glob("*.ring"):
            process = ProcessKey(*map(int, path.stem.split("-")))
            if process not in self._known:
                self._known.add(process)
                serial = len(self._known)
                self._processes[serial], self._rings[serial] = process, _Ring(path, serial)
        for ring in self._rings.values():
            process = self._processes[ring.serial]
            has_ended = start_of(process.pid) != process.start
            self._count(_records(ring.take()))
            self._looks += ring.looks
            self._late += ring.late
            self._cpu_ns += ring.cpu_ns
            self._drops = tuple(map(sum, zip(self._drops, ring.drops, strict=True)))
            if has_ended:
                ring.close()

    def _count(self, records: Iterable[_Record]) -> None:
        for record in records:
            thread, node, _, _ = _KEY.unpack_from(record.key)
            process = self._processes[record.process]
            if node == _NOT_RECORDING and process == self._first and not self._is_attached:
                continue  # before the run's time, or while recording is off
            at = (record.process, record.key)
            if at not in self._weights and len(self._weights) >= _MOST_STACKS:
                self._without_room += 1
                continue
            count, ns = self._weights.get(at, (0, 0))
            self._weights[at] = (count + 1, ns + record.weight_ns)
            if process == self._first and thread == process.pid:
                self._main_ns[node] += record.weight_ns

    def _judge(self) -> None:
        """Sample less if sections explain most of the time."""
        all_ns = self._main_ns.total()
        if all_ns < _JUDGE_EVERY_S * 1e9:
            return
        outside_ns = ticks_ns = 0
        for node, ns in self._main_ns.items():
            if not node or not self._field(node, "parent"):
                outside_ns += ns
            elif self._field(node, "ticks"):
                ticks_ns += ns
        is_worth_it = outside_ns > _WORTH_IT * all_ns or ticks_ns > _WORTH_IT_IN_TICKS * (all_ns - outside_ns)
        self._native.set_interval(1 / (self._hz if is_worth_it else _WATCHING_HZ))
        self._main_ns.clear()

    def _field(self, node: int, name: str) -> int:
        """Return a reference in a node of the first process, as to the node around it; 0 for none."""
        from ticktree.run.reading import layout

        at = node * layout.LINE + layout.offset_of(layout.Node, name)
        try:
            with (self._folder / f"{self._first}.tt").open("rb") as file:
                return int.from_bytes(os.pread(file.fileno(), 4, at), "little")
        except OSError:
            return 0  # its process has ended, and its file was folded

    def _sampled(self) -> Sampled:
        from ticktree.profile.samples import DROPS, Weight
        from ticktree.run.observed import Sampled

        stacks: dict[ThreadSample, Weight] = {}
        for (serial, key), (count, ns) in self._weights.items():
            if (serial, key) not in self._named:
                self._named[serial, key] = self._name(serial, key)
            sample, weight = self._named[serial, key], Weight(count, ns)
            stacks[sample] = stacks[sample] + weight if sample in stacks else weight
        counts = (*self._drops[:-1], self._drops[-1] + self._without_room)
        dropped = {name: count for name, count in zip(DROPS, counts, strict=True) if count}
        return Sampled(stacks, dropped, self._late, self._looks, self._cpu_ns, self._is_requested)

    def _name(self, serial: int, key: bytes) -> ThreadSample:
        from ticktree.profile.samples import STATES, CodeLine
        from ticktree.run.observed import ThreadSample

        thread, node, state, depth = _KEY.unpack_from(key)
        known = self._rings[serial].codes if serial in self._rings else self._codes
        numbers = struct.unpack_from(f"={2 * depth}I", key, _KEY.size)
        lines = tuple(
            CodeLine(code[0], code[1], self._line(code, offset))
            for code, offset in zip([known[number] for number in numbers[::2]], numbers[1::2], strict=True)
            if not code[1].startswith((_OWN_PACKAGE, *_MACHINERY))
        )
        process = self._processes[serial]
        if node == _NOT_RECORDING:
            node = 0
        outside = "" if node else self._label_outside(process, thread)
        return ThreadSample(process, node, outside, STATES[state], lines)

    def _label_outside(self, process: ProcessKey, thread: int) -> str:
        """Return the label of time outside all sections; "" for the run's first thread, whose self time has it."""
        if process != self._first:
            return "other processes"
        return "" if thread == process.pid else "other threads"

    def _line(self, code: Code, offset: int) -> int:
        if code not in self._lines:
            _, _, first_line, table = code
            self._lines[code] = CodeLines(first_line, table)
        return max(0, self._lines[code].at(offset))


class _Ring:
    """The samples of a process that samples itself, in the file that it shares; `serial`: what records call it."""

    def __init__(self, path: Path, serial: int) -> None:
        self._path = path
        with path.open("r+b") as file:
            self._memory: mmap.mmap | None = mmap.mmap(file.fileno(), _SHARED.size + _RING_BYTES)
        self.serial = serial
        self.codes: list[Code] = []
        self.looks = self.late = self.cpu_ns = 0
        self.drops: tuple[int, ...] = (0,) * 4

    def take(self) -> bytes:
        """Return the process's records since the last call, and add their code objects to `codes`."""
        memory = self._memory
        if memory is None:
            return b""
        written, read, self.looks, self.late, self.cpu_ns, *drops = _SHARED.unpack_from(memory)
        self.drops = tuple(drops)
        begin, length = _SHARED.size + read % _RING_BYTES, written - read
        data = memory[begin : begin + length]
        data += memory[_SHARED.size : _SHARED.size + length - len(data)]
        struct.pack_into("=Q", memory, _READ_AT, written)
        return b"".join(self._without_codes(data))

    def close(self) -> None:
        """Free the memory of a process that has ended and whose records were taken."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None
            self._path.unlink(missing_ok=True)

    def _without_codes(self, data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            length, process, first_line, *parts = _CODE.unpack_from(data.ljust(at + _CODE.size), at)
            if process == _CODE_RECORD:
                name_bytes, name_kind, file_bytes, file_kind, table_bytes = parts
                file_at = at + _CODE.size + name_bytes
                name = data[file_at - name_bytes : file_at].decode(_ENCODINGS[name_kind], "replace")
                table_at = file_at + file_bytes
                file = data[file_at:table_at].decode(_ENCODINGS[file_kind], "replace")
                self.codes.append((name, file, first_line, data[table_at : table_at + table_bytes]))
            else:
                yield data[at : at + 4] + struct.pack("=I", self.serial) + data[at + 8 : at + length]
            at += length


def _records(data: bytes) -> Iterator[_Record]:
    at = 0
    while at < len(data):
        length, process, weight_ns, *_ = _HEAD.unpack_from(data, at)
        yield _Record(process, weight_ns, data[at + _KEY_AT : at + length])
        at += length


def _program_of(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[_START_OF_STACK]


def _descendants(pid: int) -> Iterator[int]:
    """Yield the children of a process, their children, and so on."""
    waiting = [pid]
    while waiting:
        tasks: list[Path] = []
        with suppress(OSError):  # it has ended
            tasks = list(Path(f"/proc/{waiting.pop()}/task").iterdir())
        for task in tasks:
            with suppress(OSError):
                pids = [int(word) for word in (task / "children").read_text().split()]
                waiting += pids
                yield from pids


# Addresses of the interpreter's data in another process: our own, shifted by the difference of the mappings.


class OtherInterpreterError(Exception):
    """The process does not run the same interpreter as we do, or has not loaded it yet."""


def addresses_in(pid: int) -> tuple[int, int]:
    """Return the addresses of `_PyRuntime` and `PyCode_Type` in a process.

    Raises:
        OtherInterpreterError: It does not run the same interpreter as we do; it may be about to.
        OSError: Its memory map cannot be read.
    """
    runtime, code_type = own_addresses()
    here, there = _mappings("self"), _mappings(str(pid))
    file = next(name for begin, end, name in here if begin <= runtime < end)
    ours = min((begin for begin, _, name in here if name == file), default=0)
    theirs = min((begin for begin, _, name in there if name == file), default=None)
    if theirs is None:
        raise OtherInterpreterError(f"process {pid} does not run this Python")
    return runtime - ours + theirs, code_type - ours + theirs


def _mappings(process: str) -> list[tuple[int, int, str]]:
    """Return the mappings of a process: begin, end, and the file by device and inode.

    A file's zeroed data follow its mapping in anonymous memory; they count as the file's.
    """
    mappings: list[tuple[int, int, str]] = []
    with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - no file of ours
        for line in file:
            place, _, _, device, inode = line.split()[:5]
            begin, end = (int(number, 16) for number in place.split("-"))
            name = f"{device} {inode}"
            if inode == "0" and mappings and mappings[-1][1] == begin:
                name = mappings[-1][2]
            mappings.append((begin, end, name))
    return mappings

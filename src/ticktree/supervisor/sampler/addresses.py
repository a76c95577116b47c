"""Addresses of the interpreter's data in another process: our own, shifted by the difference of the mappings."""

from __future__ import annotations

from ticktree.supervisor.sampler._remote import own_addresses


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

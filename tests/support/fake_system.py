"""A fake system: /proc and /sys as directories, with the processes and cores that a test needs."""

from __future__ import annotations

from pathlib import Path

TICKS_PER_SECOND = 100
SUPERVISOR = 50


class InventedSystem:
    """Writes what a kernel would show."""

    def __init__(self, folder: Path) -> None:
        self.proc, self.sys = folder / "proc", folder / "sys"
        self.proc.mkdir()
        self.sys.mkdir()

    def process(
        self,
        pid: int,
        parent: int,
        ticks: int = 0,
        group: int | None = None,
        started: int = 1000,
        name: str = "python",
        pages: int = 0,
        faults: int = 0,
    ) -> None:
        """A process that has used so many clock ticks, a quarter in the kernel and a quarter by its children."""
        user, system, children_ticks = ticks // 2, ticks // 4, ticks - ticks // 2 - ticks // 4
        before = f"{pid} ({name}) R {parent} {pid if group is None else group} 1 0 -1 0 {faults} 0 0 0"
        after = f"{user} {system} {children_ticks} 0 20 0 1 0 {started} 0 {pages}"
        self._write(self.proc / str(pid) / "stat", f"{before} {after}\n")

    def thread(self, pid: int, tid: int, ran_ns: int, waited_ns: int) -> None:
        self._write(self.proc / str(pid) / "task" / str(tid) / "schedstat", f"{ran_ns} {waited_ns} 17\n")

    def end(self, pid: int) -> None:
        for path in sorted((self.proc / str(pid)).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (self.proc / str(pid)).rmdir()

    def cores(self, *busy_idle_steal: tuple[int, int, int]) -> None:
        lines = [
            f"cpu{number} {busy} 0 0 {idle} 0 0 0 {steal} 0 0"
            for number, (busy, idle, steal) in enumerate(busy_idle_steal)
        ]
        self._write(self.proc / "stat", "\n".join(["cpu 1 2 3 4", *lines, "intr 1 2 3", "ctxt 5", ""]))

    def core(self, number: int, what: str, text: object) -> None:
        self._write(self.sys / "devices/system/cpu" / f"cpu{number}" / what, f"{text}\n")

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

"""The policy server as a process of this run, on request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType

from .remote_options import ClientOptions

READY = "serving on port"
SCRIPT = Path(__file__).resolve().parents[1] / "policy_server.py"
ENDS_WITHIN_S = 20


class ServerProcess:
    """Starts the server on any free port and ends it; otherwise one is running already."""

    def __init__(self, options: ClientOptions) -> None:
        self._options = options
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> int:
        """Return the server's port."""
        if not self._options.start_server:
            return self._options.port
        command = [sys.executable, str(SCRIPT), "--port", "0", "--threads", str(self._options.threads)]
        command += ["--similar_within", str(self._options.similar_within)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(READY):
                return int(line.removeprefix(READY))
        raise ConnectionError(f"the policy server ended with exit status {self._process.wait()}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=ENDS_WITHIN_S)

"""requests: each exchange with a server, and what the server says of it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ticktree.instrument.patches import Patches
from ticktree.instrument.remote_calls import carry, said_in
from ticktree.remote.called import Call, Calls

if TYPE_CHECKING:
    from ticktree.recorder import Recorder

_patches = Patches()


def install(recorder: Recorder) -> None:
    """Wraps `Session.send` when requests is imported: all that requests does goes through it."""
    _patches.watch("requests.sessions", lambda module: _wrap(recorder, module))


def uninstall() -> None:
    """Puts everything back."""
    _patches.undo()


def _wrap(recorder: Recorder, module: ModuleType) -> None:
    def make(send: Callable[..., Any]) -> Callable[..., Any]:
        calls = Calls(recorder, send)

        def wrapper(self: Any, request: Any, **kwargs: Any) -> Any:
            if not recorder.recording:
                return send(self, request, **kwargs)
            url = urlsplit(str(request.url))
            with calls.section(str(request.method), url.netloc.rpartition("@")[2], url.path):
                call = Call(recorder)
                carry(request.headers)
                response = send(self, request, **kwargs)
                # Each further exchange of a redirect is sent from in here, and has its own section.
                call.answered(said_in([response.history[0] if response.history else response]))
                return response

        return wrapper

    _patches.wrap(module.Session, "send", make)

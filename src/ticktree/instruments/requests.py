"""requests: each exchange with a server, and what the server says of it."""

from __future__ import annotations

from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from ticktree.instruments.patches import Patches
from ticktree.instruments.remote_calls import sent
from ticktree.instruments.targets import Instrument
from ticktree.recorder import Recorder, Section
from ticktree.remote.requests import LibraryCalls


def _wrap(patches: Patches, module: ModuleType, recorder: Recorder) -> None:
    """All that requests does goes through `Session.send`."""
    patches.wrap(module, "Session.send", lambda send: sent(recorder, send, _section, _answers))


def _section(calls: LibraryCalls, request: Any) -> Section:
    url = urlsplit(str(request.url))
    return calls.section(str(request.method), url.netloc.rpartition("@")[2], url.path)


def _answers(response: Any) -> list[Any]:
    """Return one: each further exchange of a redirect is sent from within `send`, and has its own section."""
    return [response.history[0] if response.history else response]


INSTRUMENT = Instrument("requests", hooks={"requests.sessions": _wrap})

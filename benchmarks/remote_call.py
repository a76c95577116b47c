"""Cost of ticktree per HTTP call, compared with OpenTelemetry: in the client, and in a server that reports rows.

The answer is made up on the spot by an adapter of requests, so that what is compared is what requests does for a call
and what is added to it; a real server would only add waiting to both.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from itertools import repeat
from typing import Any

import ticktree
from harness.race import Block, Contender, Cost, nothing, race
from harness.report import Absent, Figure, Report, options, progress
from harness.scratch import recording
from harness.sections import own_code
from ticktree import instruments as instrument
from ticktree.remote.server_timing import Report as ServerReport
from ticktree.remote.server_timing import Row, format_header
from ticktree.remote.wsgi import WsgiServerTiming

REPORTED = format_header(
    ServerReport(
        "POST /step",
        9_200_000,
        (
            Row(1, "queue", 210_000),
            Row(1, "simulate", 5_100_000),
            Row(2, "collide", 2_300_000),
            Row(1, "render", 3_000_000),
            Row(1, "encode", 500_000),
        ),
    )
)
ADDRESS = "http://127.0.0.1:8080/step"


class Answers:
    """A session whose answers are there at once, and a request to send with it."""

    def __init__(self, requests: Any, **headers: str) -> None:
        class Adapter(requests.adapters.BaseAdapter):  # type: ignore[misc]
            def send(self, request: Any, **_: Any) -> Any:
                response = requests.Response()
                response.status_code, response.request, response.url = 200, request, request.url
                response.headers.update(headers)
                response.raw = io.BytesIO(b"{}")
                return response

            def close(self) -> None:
                return

        self.session = requests.Session()
        self.session.mount("http://", Adapter())
        self.request = requests.Request("POST", ADDRESS).prepare()


def served(app: Any) -> Block:
    """A WSGI application, called repeatedly."""

    def start_response(*_: Any) -> None:
        return

    def block(turns: int) -> None:
        for _ in repeat(None, turns):
            app({"REQUEST_METHOD": "POST", "PATH_INFO": "/step"}, start_response)

    return own_code(block)


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:  # noqa: ARG001
    """Four sections, and next to nothing in them."""
    with ticktree.section("simulate"), ticktree.section("collide"):
        pass
    with ticktree.section("render"):
        pass
    with ticktree.section("encode"):
        pass
    start_response("200 OK", [("Content-Type", "application/json")])
    return [b"{}"]


def calls(answers: Answers) -> Block:
    """Through the class, which instruments wrap."""
    session, request = answers.session, answers.request

    def block(turns: int) -> None:
        for _ in repeat(None, turns):
            session.send(request)

    return own_code(block)


def plain_calls(answers: Answers) -> Block:
    """Without the wrappers of the class."""
    session, request, send = answers.session, answers.request, type(answers.session).send

    def block(turns: int) -> None:
        for _ in repeat(None, turns):
            send(session, request)

    return own_code(block)


@contextmanager
def ours() -> Iterator[None]:
    instrument.install("requests")
    try:
        yield
    finally:
        instrument.uninstall("requests")


def theirs() -> Callable[[], AbstractContextManager[None]]:
    """OpenTelemetry's, whose spans are dropped as soon as they end.

    Raises:
        ImportError: It is not here.
    """
    trace = import_module("opentelemetry.sdk.trace")
    export = import_module("opentelemetry.sdk.trace.export")
    instrumentor = import_module("opentelemetry.instrumentation.requests").RequestsInstrumentor()

    class Drop:
        def export(self, spans: object) -> None:
            """Drops them."""

        def shutdown(self) -> None:
            """Has nothing to close."""

    provider = trace.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(export.SimpleSpanProcessor(Drop()))

    @contextmanager
    def session() -> Iterator[None]:
        instrumentor.instrument(tracer_provider=provider)
        try:
            yield
        finally:
            instrumentor.uninstrument()

    return session


def measure(rounds: int) -> Report:
    title = "A call of requests whose answer is there at once, in units of the same call without anything"
    try:
        requests = import_module("requests")
    except ImportError as error:
        return Report("remote_call", title, [Absent("requests", str(error))])
    silent, telling = Answers(requests), Answers(requests, **{"Server-Timing": REPORTED})
    bare = Cost(plain_calls(silent), bare=nothing)
    contenders = [
        Contender("ticktree, a silent server", Cost(calls(silent), bare=nothing), bare, ours),
        Contender(
            "ticktree, a server that reports five rows", Cost(calls(telling), bare=nothing), bare, ours
        ),
    ]
    absent: list[Absent] = []
    try:
        contenders.append(Contender("OpenTelemetry", Cost(calls(silent), bare=nothing), bare, theirs()))
    except ImportError as error:
        absent.append(Absent("OpenTelemetry", str(error)))
    with recording():
        progress("calling")
        results = race(contenders, rounds)
        progress("serving")
        plain = Cost(served(application), bare=nothing)
        server = race(
            [
                Contender(
                    "ticktree, serving", Cost(served(WsgiServerTiming(application)), bare=nothing), plain
                )
            ],
            rounds,
        )["ticktree, serving"]
    lines = [
        Figure.of_spread(
            name,
            result.ratio,
            "x",
            also={
                "added us": (result.cost_ns.median - result.yardstick_ns.median) / 1e3,
                "plain us": result.yardstick_ns.median / 1e3,
            },
        )
        for name, result in results.items()
    ]
    added_us = (server.cost_ns.median - server.yardstick_ns.median) / 1e3
    note = "a request of four sections, whose response reports them; compared with the same sections alone"
    lines.append(Figure("ticktree, serving", added_us, "us added", repeats=rounds, note=note))
    return Report("remote_call", title, [*lines, *absent])


def main() -> None:
    arguments = options(__doc__).parse_args()
    measure(20 if arguments.quick else 200).print(as_json=arguments.json)


if __name__ == "__main__":
    main()

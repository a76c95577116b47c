"""`ticktree run --otlp`, `--prometheus` and `--every`: what is published of a program, and that it cannot tell."""

from __future__ import annotations

import re
import signal
import socket
import sys
import threading
import time
from urllib.request import Request, urlopen

import pytest

from support.command_line import CommandLine, assert_one_clear_line
from support.otlp_collector import Answer, Collector
from ticktree.run.finishing import RunDirectory

# Ends when a line comes; says what it has of threads and files.
PROGRAM = """
import os, select, sys, threading, ticktree
for _ in ticktree.loop("train", hz=200, pace=True, warmup=2):
    with ticktree.section("sample"):
        pass
    if select.select([sys.stdin], [], [], 0)[0]:
        break
print(threading.active_count(), len(os.listdir("/proc/self/task")), sorted(map(int, os.listdir("/proc/self/fd"))))
sys.exit(7)
"""


def newest(here: CommandLine) -> RunDirectory:
    return RunDirectory.newest(here.directory / "ticktree-runs")


def page_of(program) -> str:
    line = program.stderr.readline()
    match = re.search(r"http://127\.0\.0\.1:\d+/metrics", line)
    assert match is not None, line
    return match[0]


def test_a_collector_gets_totals_every_so_often_and_in_the_end_those_of_the_profile(
    here: CommandLine, collector: Collector
) -> None:
    here.write("train.py", PROGRAM)
    here.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
    here.env["OTEL_EXPORTER_OTLP_HEADERS"] = "api-key=a%20secret"
    here.env["OTEL_EXPORTER_OTLP_COMPRESSION"] = "gzip"
    here.env["OTEL_RESOURCE_ATTRIBUTES"] = "team=arms,service.name=shadowed"
    here.env["OTEL_SERVICE_NAME"] = "robot"
    program = here.start("run", "--quiet", "--otlp", "env", "--every", "200ms", "train.py")
    collector.wait_for(3)
    _, stderr = program.communicate("\n", timeout=500)
    assert (program.returncode, stderr) == (7, "")

    run = newest(here)
    profile = run.profile()
    last = collector.taken[-1].metrics
    nodes = {path: node for path, _, node in profile.root.walk()}
    assert {path: point.as_int for path, point in last["section.calls"].items()} == {
        path: node.count for path, node in nodes.items() if path
    }
    assert {path: point.as_int for path, point in last["section.own"].items()} == {
        path: node.self_ns for path, node in nodes.items()
    }
    for path, point in last["section.duration"].items():
        stats = nodes[path].stats
        assert (point.count, point.sum, point.min, point.max) == (
            stats.count,
            stats.sum_ns,
            stats.min_ns,
            stats.max_ns,
        )
        counts = {
            point.positive.offset + index: n for index, n in enumerate(point.positive.bucket_counts) if n
        }
        assert counts == stats.histogram.buckets
    assert last["loop.ticks"]["train"].as_int == profile.loops["train"].ticks
    assert last["loop.ticks.missed"]["train"].as_int == profile.loops["train"].missed
    assert {role: point.as_int for role, point in last["processes"].items()} == {"train": 1}

    assert {request.path for request in collector.taken} == {"/v1/metrics"}
    for request in collector.taken:
        assert request.headers["content-type"] == "application/x-protobuf"
        assert request.headers["api-key"] == "a secret"
        assert request.headers["content-encoding"] == "gzip"
        assert request.resource["service.name"] == "robot"
        assert request.resource["team"] == "arms"
        assert request.resource["service.instance.id"] == run.id
    totals_of_requests = [request.metrics["section.total"][""] for request in collector.taken]
    assert {point.start_time_unix_nano for point in totals_of_requests} == {run.manifest.started_ns}
    times = [point.time_unix_nano for point in totals_of_requests]
    assert times == sorted(set(times))
    totals = [point.as_int for point in totals_of_requests]
    assert totals == sorted(totals)


@pytest.mark.slow
def test_a_program_does_not_notice_that_it_is_published(here: CommandLine, collector: Collector) -> None:
    here.write("train.py", PROGRAM)
    outputs = []
    for options in (
        (),
        ("--prometheus", "0", "--otlp", collector.url, "--every", "100ms", "--summary-every", "0.3"),
    ):
        program = here.start("run", *options, "train.py")
        if options:
            url = page_of(program)
            collector.wait_for(2)
            while b"ticktree_section_calls_total" not in urlopen(url, timeout=30).read():
                time.sleep(0.1)
            while not program.stderr.readline().startswith("--- "):
                pass  # until a summary
        else:
            time.sleep(0.5)
        outputs.append((program.communicate("\n", timeout=500)[0], program.returncode))
    assert outputs[0] == outputs[1]
    assert outputs[1][1] == 7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "Connection refused"),
        (Answer(503, {"Retry-After": "0"}), "answers 503 Service Unavailable"),
        (Answer(401), "answers 401 Unauthorized"),
        (
            Answer(307, {"Location": "http://127.0.0.1:1/"}),
            "moved to http://127.0.0.1:1/, which is not followed",
        ),
        (Answer(200, body=b"\x0a\x08\x08\x03\x12\x04full"), "did not take 3 data points: full"),
    ],
    ids=["down", "busy", "refused", "moved", "partly"],
)
def test_a_problem_of_a_collector_is_printed_once_and_changes_nothing(
    here: CommandLine, collector: Collector, answer: Answer | None, message: str
) -> None:
    here.write("train.py", PROGRAM)
    url = collector.url if answer else "http://127.0.0.1:1"
    collector.answers = [answer] * 1000 if answer else []
    program = here.start("run", "--quiet", "--otlp", url, "--every", "100ms", "train.py")
    stderr = [program.stderr.readline()]
    if answer:
        collector.wait_for(2)
    _, rest = program.communicate("\n", timeout=500)
    stderr += rest.splitlines(keepends=True)
    assert program.returncode == 7
    assert [line.count(message) for line in stderr] == [1, 1], stderr
    assert stderr[0].endswith("it is tried again\n")
    assert stderr[1].endswith("it does not have the last totals\n")
    assert all(line.startswith(f"ticktree: --otlp {url}/v1/metrics: ") for line in stderr)
    assert newest(here).profile().loops["train"].ticks > 0


@pytest.mark.slow
def test_a_silent_collector_does_not_block_the_program(here: CommandLine, collector: Collector) -> None:
    here.write("train.py", PROGRAM)
    release = threading.Event()
    collector.answers = [Answer(silent_until=release)] * 1000
    here.env["OTEL_EXPORTER_OTLP_TIMEOUT"] = "300"
    program = here.start("run", "--quiet", "--otlp", collector.url, "--every", "100ms", "train.py")
    collector.wait_for(1)
    program.stdin.write("\n")
    program.stdin.flush()
    output, stderr = program.communicate(timeout=60)
    release.set()
    assert (program.returncode, output.startswith("1 1 ")) == (7, True)
    assert "no answer in time" in stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_program_while_a_request_is_on_its_way(
    here: CommandLine, collector: Collector, number: signal.Signals
) -> None:
    here.write("train.py", PROGRAM)
    release = threading.Event()
    collector.answers = [Answer(silent_until=release)]
    program = here.start("run", "--quiet", "--otlp", collector.url, "--every", "300ms", "train.py")
    collector.wait_for(1)
    program.send_signal(number)
    while not (here.runs() and "exit_status" in newest(here).manifest.metadata):
        time.sleep(0.05)
    release.set()
    program.communicate(timeout=500)
    assert program.returncode == -number
    # What it got first was of the middle of the run, and what it got last of the whole of it.
    ticks = newest(here).profile().loops["train"].ticks
    assert collector.wait_for(2)[-1].metrics["loop.ticks"]["train"].as_int == ticks


def test_a_port_that_is_taken_is_one_clear_line_before_the_program_starts(here: CommandLine) -> None:
    here.write("train.py", "print('started')")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        result = here.ticktree("run", "--prometheus", port, "train.py")
    assert_one_clear_line(result, f"127.0.0.1:{port}", "Address already in use")
    assert here.runs() == []


@pytest.mark.parametrize(
    ("options", "stderr"),
    [
        (("--prometheus", "metrics"), "HOST:PORT"),
        (("--prometheus", ":9464"), "HOST:PORT"),
        (("--prometheus", "70000"), "HOST:PORT"),
        (("--prometheus", "nowhere.invalid:1"), "nowhere.invalid"),
        (("--otlp", "collector:4318"), "http://HOST:PORT"),
        (("--otlp", "http://a", "--every", "often"), "--every"),
        (("--otlp", "http://a", "--every", "0"), "--every"),
        (("--every", "10s"), "--otlp"),
        (("--quiet", "--prometheus", "0"), "--quiet"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(
    here: CommandLine, options: tuple[str, ...], stderr: str
) -> None:
    here.write("train.py", "print('started')")
    assert_one_clear_line(here.ticktree("run", *options, "train.py"), stderr)
    assert here.runs() == []


def test_a_closed_standard_stream_stays_closed(here: CommandLine) -> None:
    here.write("train.py", "import os\ntry:\n    os.fstat(0)\nexcept OSError:\n    print('closed')")
    command = f"exec '{sys.executable}' -m ticktree run --prometheus 0 train.py <&-"
    import subprocess

    result = subprocess.run(
        ["sh", "-c", command], cwd=here.directory, env=here.env, capture_output=True, text=True, timeout=500
    )
    assert (result.returncode, result.stdout) == (0, "closed\n"), result.stderr


def test_the_page_is_served_as_http_has_it(here: CommandLine) -> None:
    import gzip

    here.write("train.py", PROGRAM)
    program = here.start("run", "--prometheus", "localhost:0", "train.py")
    url = re.search(r"http://localhost:\d+/metrics", program.stderr.readline())[0]

    def ask(url: str, **headers: str):
        return urlopen(Request(url, headers=headers), timeout=30)

    plain = ask(url)
    assert plain.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert b"ticktree_run_info" in plain.read()
    compressed = ask(url, **{"Accept-Encoding": "gzip"})
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert b"ticktree_run_info" in gzip.decompress(compressed.read())
    assert b'href="/metrics"' in ask(url.removesuffix("metrics")).read()
    assert urlopen(Request(url, method="HEAD"), timeout=30).read() == b""
    with pytest.raises(OSError, match="404"):
        ask(url + "x")
    with pytest.raises(OSError, match="501"):
        urlopen(Request(url, data=b"x"), timeout=30)
    # One that says nothing keeps no one else out.
    host, port = url.removeprefix("http://").removesuffix("/metrics").split(":")
    with socket.create_connection((host, int(port))):
        assert ask(url).status == 200
    program.communicate("\n", timeout=500)
    assert program.returncode == 7
    with pytest.raises(OSError, match="refused"):
        ask(url)

"""Spans, as protobuf reads them into the messages of the opentelemetry-proto package, and beside the SDK's own."""

from __future__ import annotations

import base64
import json
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ticktree
from support.example_profiles import training
from support.hostile_profiles import NAMES
from ticktree.errors import TicktreeError
from ticktree.outputs import EXPORTS, ViewOptions
from ticktree.outputs.otlp import SPANS_PER_REQUEST
from ticktree.outputs.writing.visible import encodable
from ticktree.profile import Profile
from ticktree.profile.timeline import CalledNode, Lane, Timeline

REASON = "OTLP files were not read by the opentelemetry-proto package"


def lines(profile, timeline, **options):
    data = EXPORTS["otlp"].render(profile, ViewOptions(**options), timeline)
    assert data.endswith(b"\n")
    return data.decode().splitlines()


def resources(profile, timeline):
    """What each request says of one process."""
    service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason=REASON)
    from google.protobuf import json_format

    for line in lines(profile, timeline, only="calls"):
        request = json.loads(line, object_hook=with_ids_in_base_64)
        (one,) = json_format.ParseDict(request, service.ExportTraceServiceRequest()).resource_spans
        yield one


def with_ids_in_base_64(fields):
    """OTLP's JSON is protobuf's but for identities, which it has in hexadecimal digits."""
    ids = {"traceId", "spanId", "parentSpanId"} & fields.keys()
    return fields | {key: base64.b64encode(bytes.fromhex(fields[key])).decode() for key in ids}


def spans_of(recorder):
    every = [
        span
        for one in resources(recorder.snapshot(), recorder.timeline())
        for scope in one.scope_spans
        for span in scope.spans
    ]
    assert len({span.span_id for span in every}) == len(every)
    assert {(len(span.trace_id), len(span.span_id)) for span in every} <= {(16, 8)}
    return every


def facts_of(attributes):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def recorder_of(events=1000):
    return ticktree.Recorder(virtual_clock=True, timeline=events)


# A program: names of sections, each with the sections that it calls.
programs = st.recursive(
    st.builds(list),
    lambda below: st.lists(st.tuples(st.sampled_from(["a", "b", "x/y"]), below), max_size=4),
    max_leaves=20,
)


@settings(max_examples=50, deadline=None)
@given(programs)
def test_the_same_program_under_the_sdk_makes_the_same_spans_in_the_same_traces(program):
    reason = "spans were not compared with those that OpenTelemetry's SDK makes"
    pytest.importorskip("opentelemetry.sdk.trace", reason=reason)
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer, recorder = provider.get_tracer("test"), recorder_of()

    def run(calls):
        for name, below in calls:
            recorder.advance(1)
            with tracer.start_as_current_span(name), recorder.section(name):
                run(below)
                recorder.advance(1)

    run(program)
    theirs = sorted(kept.get_finished_spans(), key=lambda span: (span.start_time, -span.end_time))
    # By its place among all that began: the clocks are not the same.
    place = {span.context.span_id: at for at, span in enumerate(theirs)}
    expected = [
        (
            span.name,
            span.parent and place[span.parent.span_id],
            min(place[other.context.span_id] for other in theirs if same_trace(span, other)),
        )
        for span in theirs
    ]
    ours = sorted(spans_of(recorder), key=lambda span: span.start_time_unix_nano)
    at = {span.span_id: at for at, span in enumerate(ours)}
    first = {span.trace_id: at for at, span in reversed(list(enumerate(ours)))}
    found = [
        (span.name, at[span.parent_span_id] if span.parent_span_id else None, first[span.trace_id])
        for span in ours
    ]
    assert found == expected


def same_trace(span, other):
    return span.context.trace_id == other.context.trace_id


def test_a_span_is_a_call_to_the_nanosecond_with_its_thread():
    recorder = recorder_of()

    def work():
        with recorder.section("step", wait=True):
            recorder.advance(1234)

    recorder.advance(5)
    thread = threading.Thread(target=work, name="worker")
    thread.start()
    thread.join()
    for _ in recorder.loop("train", range(1)):
        recorder.advance(7)
    recorder.record_duration("net", 3e-9)
    step, train, net = spans_of(recorder)
    timeline = recorder.timeline()
    assert (step.name, step.end_time_unix_nano - step.start_time_unix_nano) == ("step", 1234)
    assert step.start_time_unix_nano == (timeline.began_wall_ns or 0) + int(timeline.start_ns[0])
    assert facts_of(step.attributes) == {
        "path": "step",
        "wait": True,
        "thread.id": timeline.lanes[timeline.lane[0]].thread_id,
        "thread.name": "worker",
    }
    assert facts_of(train.attributes)["tick"]
    assert facts_of(train.attributes)["thread.name"] == "MainThread"
    assert facts_of(net.attributes)["measured_elsewhere"]
    assert {span.kind for span in (step, train, net)} == {step.SPAN_KIND_INTERNAL}


def test_spans_begin_when_the_run_says_that_they_did():
    lanes, nodes = (Lane("1-1", 1, "", "", 7, "", 3),), (CalledNode("a"),)
    one, zero = np.array([5], np.int64), np.zeros(1, np.int64)
    timeline = Timeline(lanes, nodes, one, one, zero, zero, began_wall_ns=1_000)
    ((only,),) = [[*one.scope_spans[0].spans] for one in resources(Profile.empty(), timeline)]
    assert (only.start_time_unix_nano, only.end_time_unix_nano) == (1_005, 1_010)
    assert facts_of(only.attributes)["task"] == 3


@pytest.mark.slow
def test_a_process_is_a_resource_and_many_spans_are_several_requests():
    count = 2 * SPANS_PER_REQUEST + 1
    lanes = tuple(Lane(f"1-{pid}", pid, "robot", "actor", pid, "MainThread", 0) for pid in (7, 8))
    at = np.arange(count + 1)
    lane = (at == count).astype(np.int64)
    timeline = Timeline(
        lanes, (CalledNode("a"),), at, np.ones_like(at), np.zeros_like(at), lane, overwritten=9
    )
    profile = Profile(losses={"unwound": 2}, metadata={"name": frozenset({"sac"})})
    found = list(resources(profile, timeline))
    assert [len(one.scope_spans[0].spans) for one in found] == [SPANS_PER_REQUEST, SPANS_PER_REQUEST, 1, 1]
    facts = [facts_of(one.resource.attributes) for one in found]
    assert [each["process.pid"] for each in facts] == [7, 7, 7, 8]
    assert {each["process.title"] for each in facts} == {"robot, actor"}
    assert {each["service.name"] for each in facts} == {"sac"}
    for each in facts:
        lost = {one.key: one.value.int_value for one in each["not_recorded"].values}
        assert lost == {"unwound": 2, "calls before the timeline": 9}


def test_hostile_names_are_there():
    recorder = recorder_of()
    for name in NAMES:
        with recorder.section(name):
            recorder.advance(1)
    named = {encodable(name) for name in recorder.snapshot().root.children}
    assert {span.name for span in spans_of(recorder)} == named
    assert len(named) == len(NAMES)


def test_another_moment_of_a_run_is_of_other_traces_and_the_same_moment_of_the_same():
    recorder = recorder_of()
    traces = []
    for _ in range(2):
        with recorder.section("a"):
            recorder.advance(1)
        traces.append({span.trace_id for span in spans_of(recorder)})
        assert traces[-1] == {span.trace_id for span in spans_of(recorder)}
    assert not traces[0] & traces[1]


def test_totals_come_first_and_each_half_can_be_had_alone():
    recorder = recorder_of()
    with recorder.section("a"):
        recorder.advance(1)
    profile, timeline = recorder.snapshot(), recorder.timeline()
    both = lines(profile, timeline)
    assert [[*json.loads(line)] for line in both] == [["resourceMetrics"], ["resourceSpans"]]
    assert lines(profile, timeline, only="calls") == both[1:]
    assert lines(profile, None, only="totals") == lines(profile, None) == both[:1]


def test_spans_are_never_made_up_from_totals():
    with pytest.raises(TicktreeError, match="ticktree run --timeline"):
        lines(training(), None, only="calls")
    assert len(lines(training(), None)) == 1

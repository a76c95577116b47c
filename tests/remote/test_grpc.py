"""gRPC: what a server says in trailing metadata, of a service made by hand."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("grpc")

HANDLERS = """
    def step(request, context):
        context.set_trailing_metadata((("own", "kept"),))
        work()
        trace = dict(context.invocation_metadata()).get("traceparent", "")
        return trace.encode()

    def total(requests, context):
        for _ in requests:
            pass
        work()
        return b""

    def frames(request, context):
        for _ in range(3):
            with ticktree.section("render"):
                time.sleep(0.002)
            yield b"frame"

    def unmade(request, context):
        raise ValueError("no frames")

    def wrong(request, context):
        work()
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "as it should be")
"""

SERVER = (
    """
    import signal, threading
    from concurrent import futures
    import grpc
    from ticktree.remote.grpc import server_timing
"""
    + HANDLERS
    + """
    methods = {
        "Step": grpc.unary_unary_rpc_method_handler(step),
        "Total": grpc.stream_unary_rpc_method_handler(total),
        "Frames": grpc.unary_stream_rpc_method_handler(frames),
        "Unmade": grpc.unary_stream_rpc_method_handler(unmade),
        "Wrong": grpc.unary_unary_rpc_method_handler(wrong),
    }
    server = grpc.server(futures.ThreadPoolExecutor(2), interceptors=[server_timing()])
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("sim.Sim", methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    listening(port)
    try:
        server.wait_for_termination()
    except KeyboardInterrupt:
        server.stop(0)
"""
)

AIO_SERVER = """
    import asyncio
    from concurrent import futures
    import grpc
    from ticktree.remote.grpc import aio_server_timing

    async def step(request, context):
        with ticktree.section("simulate"):
            await asyncio.sleep(0.004)
        with ticktree.section("render"):
            await asyncio.sleep(0.003)
        return b""

    def blocking(request, context):
        with ticktree.section("encode"):
            time.sleep(0.002)
        return b"encoded"

    async def writing(request, context):
        with ticktree.section("render"):
            await context.write(b"frame")

    async def frames(request, context):
        for _ in range(3):
            with ticktree.section("render"):
                await asyncio.sleep(0.002)
            yield b"frame"

    async def main():
        methods = {
            "Step": grpc.unary_unary_rpc_method_handler(step),
            "Blocking": grpc.unary_unary_rpc_method_handler(blocking),
            "Writing": grpc.unary_stream_rpc_method_handler(writing),
            "Frames": grpc.unary_stream_rpc_method_handler(frames),
        }
        server = grpc.aio.server(futures.ThreadPoolExecutor(1), interceptors=[aio_server_timing()])
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("sim.Sim", methods),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        listening(port)
        await server.wait_for_termination()
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
"""

CLIENT = """
import json, sys
import grpc
import ticktree

class Own(grpc.UnaryUnaryClientInterceptor):
    def intercept_unary_unary(self, continuation, details, request):
        return continuation(details, request)

channel = grpc.intercept_channel(grpc.insecure_channel(f"127.0.0.1:{sys.argv[1]}"), Own())
step = channel.unary_unary("/sim.Sim/Step")
grpc.channel_ready_future(channel).result()
found = {}
for _ in ticktree.loop("drive", range(4)):
    response, call = step.with_call(b"", timeout=30)
    found["own"] = dict(call.trailing_metadata()).get("own")
    found.setdefault("traces", []).append(response.decode())
    found["answer"] = step(b"").decode() is not None
    if len(sys.argv) > 2:
        channel.stream_unary("/sim.Sim/Total")(iter([b"a", b"b"]))
        found["frames"] = len(list(channel.unary_stream("/sim.Sim/Frames")(b"")))
        try:
            channel.unary_unary("/sim.Sim/Wrong")(b"")
        except grpc.RpcError as error:
            found["error"] = [error.code().name, error.details()]
        try:
            next(channel.unary_stream("/sim.Sim/Unmade")(b""))
        except grpc.RpcError as error:
            found["unmade"] = error.details()
print(json.dumps(found))
"""

AIO_CLIENT = """
import asyncio, json, sys
import grpc
import ticktree

async def main():
    async with grpc.aio.insecure_channel(f"127.0.0.1:{sys.argv[1]}") as channel:
        step = channel.unary_unary("/sim.Sim/Step")
        await channel.channel_ready()
        for _ in ticktree.loop("drive", range(4)):
            await step(b"")
        assert await channel.unary_unary("/sim.Sim/Blocking")(b"") == b"encoded"
        frames = 0
        async for _ in channel.unary_stream("/sim.Sim/Frames")(b""):
            frames += 1
        async for frame in channel.unary_stream("/sim.Sim/Writing")(b""):
            assert frame == b"frame"
        return frames

print(json.dumps(asyncio.run(main())))
"""


def below(node):
    return {child.key: child for child in node.children.values()}


@pytest.mark.slow
def test_a_call_splits_into_network_queue_and_the_servers_sections(programs):
    server = programs.serve(SERVER)
    asked = programs.run("client", CLIENT, server.port, "all")
    served = programs.stop(server)
    found = json.loads(asked.output)
    assert found["own"] == "kept"
    assert found["frames"] == 3
    assert found["error"] == ["INVALID_ARGUMENT", "as it should be"]
    # As gRPC says it where a handler raises as it is called, and not while its responses are taken.
    assert found["unmade"] == "Exception calling application: no frames"

    drive = asked.profile.root.at("drive")
    step = drive.children["/sim.Sim/Step"]
    assert (step.count, step.wait) == (8, True)  # with interceptors of the program's own, each is one call
    far = below(step)["server@remote"]
    assert far.count == below(step)["network@remote"].count == 8
    assert below(far).keys() == {"queue@remote", "simulate@remote", "render@remote"}
    request = served.root.children["/sim.Sim/Step"]
    assert below(far)["simulate@remote"].total_ns == pytest.approx(
        request.children["simulate"].total_ns, rel=0.01
    )
    total = drive.children["/sim.Sim/Total"]
    assert (total.count, below(total)["server@remote"].count) == (4, 4)
    # Each wait for a response, and the one in which there was none any more.
    assert drive.children["/sim.Sim/Frames"].count == 16
    assert drive.children["/sim.Sim/Wrong"].count == 4
    assert served.root.children["/sim.Sim/Frames"].children["render"].count == 12


@pytest.mark.slow
def test_calls_carry_a_trace_only_where_that_was_asked_for(programs):
    server = programs.serve(SERVER)
    plain = programs.run("client", CLIENT, server.port)
    asked = programs.run("client", CLIENT, server.port, auto="default,trace-context")
    assert set(json.loads(plain.output)["traces"]) == {""}
    traces = [trace.split("-")[1] for trace in json.loads(asked.output)["traces"]]
    assert len(traces) == 4
    assert len(set(traces)) == 1


@pytest.mark.slow
def test_the_same_of_a_server_and_a_client_of_asyncio(programs):
    server = programs.serve(AIO_SERVER)
    asked = programs.run("client", AIO_CLIENT, server.port)
    served = programs.stop(server)
    assert json.loads(asked.output) == 3
    step = asked.profile.root.at("drive").children["/sim.Sim/Step"]
    assert (step.count, below(step)["server@remote"].count) == (4, 4)
    assert below(below(step)["server@remote"]).keys() == {"simulate@remote", "render@remote"}
    assert asked.profile.root.children["/sim.Sim/Blocking"].children == {}
    assert served.root.children["/sim.Sim/Blocking"].children["encode"].count == 1
    assert served.root.children["/sim.Sim/Frames"].children["render"].count == 3
    assert served.root.children["/sim.Sim/Writing"].children["render"].count == 1

"""What a GPU did, in traces of the shape that torch.profiler writes them in."""

from __future__ import annotations

from support.chrome_traces import US, call, read, totals


def launch(at, correlation, *, tid=1):
    return call("cudaLaunchKernel", at, 1, tid=tid, cat="cuda_runtime", args={"correlation": correlation})


def kernel(at, length, correlation, *, cat="kernel", stream=7):
    args = {"device": 0, "stream": stream, "correlation": correlation}
    return call("gemm", at, length, pid=0, tid=stream, cat=cat, args=args)


STEP = [call("ProfilerStep#1", 0, 100), call("update", 10, 50), call("forward", 12, 10)]


def test_kernels_are_a_row_of_the_section_that_launched_them_and_run_beside_it():
    events = [*STEP, launch(13, 1), kernel(20, 30, 1), launch(30, 2), kernel(50, 80, 2)]
    profile = read(events)
    rows = {path: total for path, total in totals(profile).items() if "GPU" in path}
    assert rows == {
        "ProfilerStep/update/forward/kernels on GPU 0@device": (1, 30, 30),
        "ProfilerStep/update/kernels on GPU 0@device": (1, 80, 80),
    }
    assert profile.root.at("ProfilerStep/update/kernels on GPU 0@device").concurrent_ns == 80 * US
    assert profile.root.total_ns == 100 * US
    assert profile.root.at("ProfilerStep/update").total_ns == 50 * US


def test_copies_and_fills_have_rows_of_their_own():
    events = [
        *STEP,
        launch(13, 1),
        kernel(20, 3, 1, cat="gpu_memcpy"),
        launch(14, 2),
        kernel(24, 2, 2, cat="gpu_memset"),
    ]
    forward = read(events).root.at("ProfilerStep/update/forward")
    assert {name: child.total_ns for name, child in forward.children.items()} == {
        "copies on GPU 0@device": 3 * US,
        "fills on GPU 0@device": 2 * US,
    }


def test_what_a_helper_thread_launches_is_done_for_what_the_process_is_in():
    profile = read([*STEP, launch(40, 5, tid=99), kernel(41, 9, 5)])
    assert profile.root.at("ProfilerStep/update/kernels on GPU 0@device").count == 1


def test_work_whose_launch_is_not_in_the_trace_stands_at_the_root():
    profile = read([*STEP, kernel(41, 9, 5), kernel(50, None, 6), launch(500, 7), kernel(501, 2, 7)])
    assert profile.root.at("kernels on GPU 0@device").count == 2
    assert profile.root.total_ns == 100 * US


def test_streams_are_threads_of_their_own_and_may_overlap():
    events = [*STEP, launch(13, 1), kernel(20, 30, 1), launch(14, 2), kernel(25, 30, 2, stream=8)]
    node = read(events).root.at("ProfilerStep/update/forward/kernels on GPU 0@device")
    assert (node.count, node.total_ns, len(node.by_thread)) == (2, 60 * US, 2)


def test_work_that_began_before_any_call_begins_the_run():
    profile = read([call("step", 50, 100), kernel(10, 5, 1)])
    assert profile.root.at("kernels on GPU 0@device").windows.count == 1
    assert profile.root.total_ns == 100 * US


def test_device_work_is_left_out_where_other_categories_were_asked_for():
    events = [*STEP, launch(13, 1), kernel(20, 30, 1)]
    profile = read(events, ["user_annotation"])
    assert not any("GPU" in path for path in totals(profile))
    assert profile.metadata["not_read"] == {"kernel", "cuda_runtime"}
    assert list(totals(read(events, ["kernel"]))) == ["kernels on GPU 0@device"]

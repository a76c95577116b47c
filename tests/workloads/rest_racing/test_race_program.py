import re

import pytest

import ticktree
from support.findings import findings
from support.thorough import thorough
from support.workloads.rest_racing import FOCUS, SMALL, run_race

# The tree of the reference, each call below its caller.
CALLS = {
    "self._controller.step(self._p_obs) | MultiModelController.step": {
        "self._forwarder.step(p_obs) | Forwarder.step": {},
        "self._action_merger.step(actions, states, aux.weights, p_obs) | ActionMerger.step": {},
        "aux.update(merged_states) | AuxiliaryMerge.update": {},
    },
    "self._env.step(ctrl_result.env_action) | RestVisionEnv.step": {
        "self._act_and_get_obs_extended(action, prev_obs) | RestVisionEnv._act_and_get_obs_extended": {
            "super()._act_and_get_obs(action, prev_obs) | RestEnv._act_and_get_obs": {
                "self.rest.execute_and_wait_for_obs(action) | RestClient.execute_and_wait_for_obs": {},
                "self._add_derived_to_obs(raw_obs, prev_obs) | RestEnv._add_derived_to_obs": {},
            },
            "self._add_latest_image_to_obs(obs) | RestVisionEnv._add_latest_image_to_obs": {},
        },
    },
    "self._preprocess_obs_for_step(env_result) | Driver._preprocess_obs_for_step": {},
}
ASKING = (
    "self._env.step(ctrl_result.env_action) | RestVisionEnv.step",
    "self._act_and_get_obs_extended(action, prev_obs) | RestVisionEnv._act_and_get_obs_extended",
    "super()._act_and_get_obs(action, prev_obs) | RestEnv._act_and_get_obs",
    "self.rest.execute_and_wait_for_obs(action) | RestClient.execute_and_wait_for_obs",
)
STEPS, FIRST = 8, 3


def child(node, name):
    """The call of that name: what follows it is the file and line of what is called."""
    matches = [
        candidate
        for candidate in node.children.values()
        if candidate.name.startswith(f"{name} : ") or candidate.name == name
    ]
    assert len(matches) == 1, list(node.children)
    return matches[0]


def descend(node, *names):
    for name in names:
        node = child(node, name)
    return node


@pytest.fixture(scope="module")
def policies(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policies")
    process = run_race(folder, *SMALL, "--out", "policies.pt", script="train.py")
    assert re.fullmatch(r"taught 2 models, and one, in [\d.]+ s: policies\.pt\n", process.stdout)
    return folder / "policies.pt"


@pytest.fixture(
    scope="module",
    params=["many", *(pytest.param(name, marks=pytest.mark.slow) for name in ("sliced", "one"))],
)
def raced(request, tmp_path_factory, policies):
    folder = tmp_path_factory.mktemp("raced")
    options = [
        "--policies",
        str(policies),
        "--frames",
        "2",
        "--steps",
        str(STEPS),
        "--variant",
        request.param,
    ]
    return run_race(folder, *options, under=[*FOCUS, "--warmup", str(FIRST)])


def driver_step(profile):
    return child(profile.root, "Driver.step")


@pytest.mark.slow
def test_the_reference_s_tree_is_printed_by_itself(raced):
    def look(node, calls):
        for name, below in calls.items():
            match = child(node, name)
            assert match.count == STEPS
            look(match, below)

    look(driver_step(raced.profile()), CALLS)
    assert "Driver.step" in raced.stderr


@pytest.mark.slow
def test_the_means_leave_out_as_many_first_steps_as_asked(raced):
    (loop,) = [loop for name, loop in raced.profile().loops.items() if name.startswith("Driver.step")]
    assert (loop.ticks, loop.warmup_ticks) == (STEPS, FIRST)
    assert loop.stats.count == STEPS - FIRST


def request_of(profile):
    call = descend(driver_step(profile), *ASKING)
    (request,) = [entry for entry in call.children.values() if entry.name.startswith("POST ")]
    return request


@pytest.mark.slow
def test_the_request_is_told_apart_into_simulation_rendering_encoding_and_network(raced):
    request = request_of(raced.profile())
    assert request.count == STEPS
    assert request.wait
    server, network = child(request, "server"), child(request, "network")
    for part in ("simulate", "render", "encode"):
        node = child(server, part)
        assert node.count == STEPS  # once a request: all its calls together
        assert node.clock == "remote"
        assert 0 < node.total_ns <= server.total_ns
    assert server.total_ns + network.total_ns <= request.total_ns


def test_the_server_s_own_run_is_in_the_tree_too(raced):
    served = child(raced.profile().root, "POST /api/step")
    assert served.count == STEPS
    assert child(served, "simulate").count == child(served, "render").count == 2 * STEPS


def test_no_rule_takes_merging_actions_for_a_queue_of_them(raced):
    assert not {finding.rule for finding in findings(raced.profile())} & {"horizon", "queue-merge", "starved"}


@pytest.mark.slow
def test_without_server_timing_the_request_is_one_opaque_row(tmp_path, policies):
    options = ["--policies", str(policies), "--frames", "2", "--steps", "3", "--no-server-timing"]
    process = run_race(tmp_path, *options, under=[*FOCUS, "--quiet"])
    assert request_of(process.profile()).children == {}


@pytest.mark.slow
def test_only_the_last_frame_is_drawn_where_that_is_asked_for(tmp_path, policies):
    options = ["--policies", str(policies), "--frames", "4", "--steps", "3", "--draw", "last"]
    served = child(run_race(tmp_path, *options, under=["--quiet"]).profile().root, "POST /api/step")
    assert (child(served, "simulate").count, child(served, "render").count) == (12, 3)


@pytest.mark.slow
def test_checkpoints_print_running_means_and_are_sections_where_ticktree_records(tmp_path, policies):
    options = ["--policies", str(policies), "--frames", "2", "--steps", "6", "--checkpoints", "--after", "2"]
    process = run_race(tmp_path, *options, "--print-every", "2", under=["--quiet"])
    lines = [line for line in process.stdout.splitlines() if line.startswith("Driver.step")]
    number = r"\d+\.\d{3}"
    pattern = rf"Driver\.step {number} ms: controller {number}, environment {number}, preprocess {number}"
    assert len(lines) == 2
    assert all(re.fullmatch(pattern, line) for line in lines)
    step = process.profile().root.at("Driver.step")
    assert [step.at(part).count for part in ("controller", "environment", "preprocess")] == [6, 6, 6]


@pytest.mark.slow
def test_it_drives_the_same_with_ticktree_and_without(tmp_path, policies):
    options = ["--policies", str(policies), "--frames", "2", "--steps", "5", "--seed", "4"]
    outcomes = {
        run_race(tmp_path, *options, under=launcher, **variables).stdout.partition("; ")[2]
        for launcher, variables in ((["--quiet", *FOCUS], {}), (None, {}), (None, {"TICKTREE_OFF": "1"}))
    }
    (outcome,) = outcomes
    assert re.fullmatch(r"game 1: \d+ of \d+ tiles, reward -?[\d.]+\n", outcome)


@pytest.mark.slow
def test_a_server_that_is_not_there_is_an_error_not_a_hang(tmp_path, policies):
    options = ["--policies", str(policies), "--steps", "1", "--server", "http://127.0.0.1:9"]
    process = run_race(tmp_path, *options, status=1)
    assert "ConnectionError" in process.stderr


@thorough
@pytest.mark.slow
def test_the_quick_form_is_of_nineteen_models(tmp_path):
    process = run_race(tmp_path, "--quick", "--steps", "3", under=["--quiet"])
    profile = process.profile()
    assert profile.root.at("policies/expert drives").count == 1
    assert isinstance(profile, ticktree.Profile)

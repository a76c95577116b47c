from __future__ import annotations

import pytest

from ticktree.analysis import Settings
from ticktree.analysis.categories import Categories, Traits, traits_of, words
from ticktree.analysis.context import Context
from ticktree.profile import Node, Profile
from ticktree.profile.measures import REMOTE

# The operations of a hand-made profiler of training on images, by the category it puts them in.
NAMED = {
    "environment": (
        *("env_rgb_observation_generation", "env_rgb_rendering", "env_rgb_resizing", "env_rgb_draw_grid"),
        *("env_rgb_draw_walls", "env_rgb_draw_robots", "env_rgb_draw_target"),
    ),
    "model": (
        *("convlstm_forward_pass", "convlstm_boundary_padding", "convlstm_conv_encoder", "convlstm_layers"),
        *("convlstm_skip_connection", "convlstm_global_pooling", "convlstm_projection"),
    ),
    "policy": (
        *("recurrent_policy_forward", "recurrent_policy_get_hidden_states", "recurrent_policy_action_value"),
        *("recurrent_policy_action_dist", "recurrent_policy_action_sampling"),
    ),
    "training": (
        *("training_total", "simulated_training_step", "simulated_data_collection", "simulated_model_update"),
    ),
}


@pytest.mark.parametrize(
    ("category", "name"), [(each, name) for each, names in NAMED.items() for name in names]
)
def test_each_named_operation_is_in_its_category(category, name):
    assert Categories({}).of(name) == category


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("env step", "environment"),
        ("EnvManager.step", "environment"),
        ("render", "rendering"),
        ("replay buffer", "data"),
        ("sample", "data"),
        ("sample action", "policy"),
        ("train_batch", "training"),
        ("collate_fn", "data"),
        ("policy_update", "training"),
        ("optimizer.step", "training"),
        ("Preprocess Observation", "preprocessing"),
        ("read camera", "robot"),
        ("robot send_action", "robot"),
        ("robot get_observation", "robot"),
        ("policy select_action", "policy"),
        ("copy to cuda", "data"),
        ("convert to float32", "data"),
        ("DataLoader wait", "waiting"),
        ("DataLoader load", "data"),
        ("forward Critic 2", "model"),
        ("optimizer zero_grad Adam", "training"),
        ("VecEnv step_wait", "waiting"),
        ("collect_rollouts", "environment"),
        ("http request", "network"),
        ("wandb.log", "logging"),
        ("checkpoint", "logging"),
        ("wait for frame", "waiting"),
        ("sleep", "waiting"),
        ("inference", "policy"),
        ("conv2d", "model"),
        ("select", None),
        ("environmental", "environment"),
        ("inventory", None),  # holds "env" only without its neighbours
        ("", None),
        ("\x00/\\", None),
    ],
)
def test_other_usual_names(name, category):
    assert Categories({}).of(name) == category


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("self.net.forward(batch) | Net.forward : train.py @ L3", "model"),
        ("helper(replay) | helper : train.py @ L9", None),
        ("Policy.act : env/replay.py @ L12", "policy"),
        ("sorted(batch) | sorted @ L7", None),
        ("policy @ L", "policy"),
    ],
)
def test_of_a_call_under_focus_the_function_counts_and_not_its_arguments_or_its_file(name, category):
    assert Categories({}).of(name) == category


def test_words_are_split_in_any_notation():
    assert (
        words("env_step2")
        == words("EnvStep2")
        == words("env.step 2")
        == words("ENV-step-2")
        == ["env", "step", "2"]
    )
    assert words("HTTPServer") == ["http", "server"]


def test_a_pattern_of_several_words_is_found_where_they_follow_one_another():
    own = Categories({"soft": ("soft update",)})
    assert own.of("soft_update of critic") == "soft"
    assert own.of("update, but soft") == "training"


def test_stars_and_question_marks_stand_for_letters_of_one_word():
    own = Categories({"mine": ("mj*", "?r")})
    assert [own.of(name) for name in ("mj_step", "mjrender", "xr", "xr2", "vrx", "mjx r")] == [
        *("mine", "mine", "mine", "mine", None, "mine")
    ]


def test_custom_patterns_precede_the_defaults_in_their_order():
    context = Context(Profile.empty(), Settings(categories={"first": ("env",), "second": ("env", "sample")}))
    assert (context.category("env"), context.category("sample"), context.category("render")) == (
        "first",
        "second",
        "rendering",
    )


def test_regular_expressions_in_patterns_are_literal():
    assert Categories({"mine": ("a|b",)}).of("b") is None
    assert Categories({"mine": ("a|b",)}).of("a b") == "mine"


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("POST localhost:8080/predict", "network"),
        ("GET (other hosts)", None),
        ("POST /predict", None),
        ("(other method) /train", None),
        ("/inference.Policy/Act", None),
        ("GET request", "network"),
        ("a/train", "training"),
    ],
)
def test_the_words_of_a_requests_path_have_no_category(name, category):
    assert Categories({}).of(name) == category


def test_custom_patterns_precede_the_category_of_requests():
    assert Categories({"robot": ("predict",)}).of("POST /predict") == "robot"


def test_work_of_another_program_is_not_a_wait():
    call = Node(
        name="POST localhost/step",
        wait=True,
        children={
            "server@remote": Node(
                name="server",
                clock=REMOTE,
                children={
                    "simulate@remote": Node(name="simulate", clock=REMOTE),
                    "queue@remote": Node(name="queue", clock=REMOTE, wait=True),
                },
            ),
            "connect": Node(name="connect"),
        },
    )
    found, waiting = {}, [(call, Traits())]
    for node, above in waiting:  # the list grows while it is walked
        here = traits_of(node, above, Categories({}).of)
        found[node.name] = here.category
        waiting.extend((child, here) for child in node.children.values())
    assert found == {
        "POST localhost/step": "waiting",
        "server": "waiting",
        "simulate": "environment",
        "queue": "waiting",
        "connect": "waiting",
    }

from __future__ import annotations

import pytest
from visual_sac.train import parse_args

from ticktree.cli import demo


def test_the_defaults_are_the_reference_s_batch_and_buffer_on_one_thread():
    options = parse_args([])
    assert (options.buffer, options.batch, options.threads, options.device.type) == ("list", 256, 1, "cpu")


def test_quick_is_a_preset_that_other_options_override():
    assert (parse_args(["--quick"]).updates, parse_args(["--quick"]).fill) == (8, 300)
    options = parse_args(["--quick", "--updates", "3"])
    assert (options.updates, options.fill) == (3, 300)


def test_the_demo_asks_for_what_there_is_and_declares_no_time_that_it_did_not_measure():
    options = parse_args(list(demo._SHOWN["visual_sac"].arguments))
    assert not options.declare_breakdown
    assert options.fill >= options.batch


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit) as exit_info:
        parse_args(["--help"])
    assert exit_info.value.code == 0
    text = capsys.readouterr().out
    for option in (
        "--buffer",
        "--quick",
        "--updates",
        "--batch",
        "--capacity",
        "--threads",
        "--verbose-every",
        "--declare-breakdown",
    ):
        assert option in text


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--buffer", "deque"], "invalid choice"),
        (["--fill", "0"], "--fill 0 is less than 1"),
        (["--updates", "many"], "argument --updates: invalid int value: 'many'"),
        (["--fill", "100"], "--fill 100 is too little for a batch of 256"),
        (["--capacity", "100"], "--capacity 100 is too little for a batch of 256"),
        (["--device", "toaster"], "no such device: toaster"),
        (["--save", "no/such/place/weights.pt"], "there is no such directory"),
        (["--capacity", "100000000", "--fill", "100000000"], "choose a smaller --capacity"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_status_2(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as exit_info:
        parse_args(arguments)
    assert exit_info.value.code == 2
    assert complaint in capsys.readouterr().err.splitlines()[-1]

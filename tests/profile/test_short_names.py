"""What calls under focus are called where their names say too much."""

from __future__ import annotations

from ticktree.profile import CallSite, Node
from ticktree.profile.short_names import ShortNames

FORWARD = "Net.forward : net.py @ L3"


def of(*calls: tuple[str, int]) -> ShortNames:
    """Of a tree with calls in it: their names, and the lines in which they are made."""
    made = {
        name: Node(name=name, call_sites={CallSite("train.py", line, "update"): 1} if line else {})
        for name, line in calls
    }
    return ShortNames(Node(name="root", children=made))


def test_a_call_is_its_function():
    names = of((f"self.net.forward(batch) | {FORWARD}", 12), ("Driver.step : drive.py @ L50", 0))
    assert names.of(f"self.net.forward(batch) | {FORWARD}") == "Net.forward"
    assert names.of("Driver.step : drive.py @ L50") == "Driver.step"


def test_calls_of_one_function_in_several_places_say_their_lines():
    one, other = f"self.net.forward(batch) | {FORWARD}", f"self.net.forward(next_batch) | {FORWARD}"
    names = of((one, 12), (other, 13))
    assert [names.of(name) for name in (one, other)] == ["Net.forward @ L12", "Net.forward @ L13"]


def test_calls_on_one_line_say_in_what_they_differ():
    one, other = f"net.forward(a, [1]) | {FORWARD}", f"net.forward(a, [1, 2]) | {FORWARD}"
    names = of((one, 12), (other, 12))
    assert [names.of(name) for name in (one, other)] == [
        "Net.forward @ L12 …[1])",
        "Net.forward @ L12 …[1, 2])",
    ]


def test_long_calls_that_differ_late_are_told_apart():
    names_of_long_calls = [f"net.forward({'a' * 80}{last}) | {FORWARD}" for last in "bcd"]
    names = of(*((name, 12) for name in names_of_long_calls))
    assert len({names.of(name) for name in names_of_long_calls}) == 3


def test_functions_of_one_name_on_one_line_of_two_files_keep_their_names():
    one, other = "main() | main : a.py @ L1", "main() | main : b.py @ L1"
    names = of((one, 12), (other, 12))
    assert (names.of(one), names.of(other)) == (one, other)


def test_a_section_of_the_functions_name_is_told_from_it():
    call = f"net.forward(a) | {FORWARD}"
    names = of((call, 12), ("Net.forward", 0))
    assert (names.of(call), names.of("Net.forward")) == ("Net.forward @ L12", "Net.forward")


def test_a_sentence_has_the_short_names_in_it_also_of_paths():
    call = "a / b | div : lib/number.py @ L3"
    names = of((call, 12))
    path = r"train/a \/ b | div : lib\/number.py @ L3"
    assert names.within(f"{call} is slow; {path} too") == "div is slow; train/div too"
    assert names.within("what is no call @ L12") == "what is no call @ L12"

"""Keys, through the app: what is pressed is what changes."""

from __future__ import annotations

import pytest

from support import live_scenes as scenes
from support.live_snapshots import watch, watched
from ticktree.live.app import steer
from ticktree.live.screen import draw_screen
from ticktree.live.view import ACTIONS, FILTER_CELLS, KEYS, LiveView

ROBOT_NAMES = ["control", "observe", "resize", "find the ball", "plan", "solve", "send"]


def row_names(watcher) -> list[str]:
    """The sections in sight, in order."""
    rows = []
    for line in watcher.lines():
        name = line.lstrip("│├└─ ").partition("  ")[0].removesuffix(" (wait)").partition(" +")[0]
        if name in ROBOT_NAMES and " /s" in line:
            rows.append(name)
    return rows


def test_s_goes_through_the_orders_and_comes_back():
    async def test(watcher):
        await watcher.look()
        seen = []
        for _ in range(5):
            seen.append((watcher.app.view.order, row_names(watcher)))
            await watcher.press("s")
        assert [order for order, _ in seen] == ["share", "rate", "p99", "name", "share"]
        assert seen[0] == seen[4]
        assert seen[3][1] == ["control", "observe", "find the ball", "resize", "plan", "solve", "send"]
        assert seen[2][1] == ["control", "send", "plan", "solve", "observe", "resize", "find the ball"]

    watch(test, scenes.robot())


def test_a_filter_is_typed_letter_by_letter_kept_by_enter_and_undone_by_escape():
    async def test(watcher):
        await watcher.look()
        await watcher.press("slash", "s", "o")
        assert row_names(watcher) == ["control", "plan", "solve"]
        await watcher.press("backspace", "backspace", "q")
        assert watcher.app.view.filter == "q"  # a letter while typing, and no reason to quit
        await watcher.press("backspace", "e", "n", "d", "enter")
        assert row_names(watcher) == ["control", "send"]
        assert "only names with end" in watcher.text
        await watcher.press("escape")
        assert len(row_names(watcher)) == len(ROBOT_NAMES)

    watch(test, scenes.robot())


def test_text_pasted_into_a_filter_cannot_move_the_cursor_or_fill_the_screen():
    view = LiveView(is_typing=True).with_letters("\x1b[31m\n" + "x" * 500)
    assert view.filter.startswith("[31mx")
    assert len(view.filter) == FILTER_CELLS


def test_arrows_move_a_cursor_that_stays_on_its_row_when_rows_are_sorted_again():
    async def test(watcher):
        await watcher.look()
        await watcher.press("down", "down", "down")
        assert watcher.app.view.cursor == ("control/observe/resize", "section")
        await watcher.press("s", "s")
        assert watcher.app.view.cursor == ("control/observe/resize", "section")
        await watcher.press("home")
        assert watcher.app.view.cursor == ("control", "section")
        await watcher.press("end")
        assert watcher.app.view.cursor == ("control", "self")
        await watcher.press("up")
        assert watcher.app.view.cursor == ("control/observe", "self")

    watch(test, scenes.robot())


def test_folding_and_unfolding_with_space_arrows_minus_and_plus():
    async def test(watcher):
        await watcher.look()
        await watcher.press("down", "down", "space")
        assert row_names(watcher) == ["control", "observe", "plan", "solve", "send"]
        await watcher.press("space")
        assert row_names(watcher) == ROBOT_NAMES
        await watcher.press("left")
        assert "resize" not in row_names(watcher)
        await watcher.press("right", "down", "left")  # there is nothing below: up to its parent
        assert watcher.app.view.cursor == ("control/observe", "section")
        await watcher.press("minus")
        assert row_names(watcher) == ["control"]
        await watcher.press("plus")
        assert row_names(watcher) == ROBOT_NAMES

    watch(test, scenes.robot())


def test_a_click_on_a_row_folds_it_and_a_click_elsewhere_does_nothing():
    async def test(watcher):
        await watcher.look()
        at = next(y for y, line in enumerate(watcher.lines()) if line.startswith("├─ observe"))
        await watcher.pilot.click(offset=(3, at))
        await watcher.pilot.pause()
        assert "resize" not in row_names(watcher)
        await watcher.pilot.click(offset=(3, 0))
        await watcher.pilot.click(offset=(3, watcher.app.size.height - 1))
        assert "resize" not in row_names(watcher)

    watch(test, scenes.robot())


def test_a_pause_stops_reading_and_the_screen_until_it_is_over():
    async def test(watcher):
        await watcher.look()
        await watcher.press("p")
        before = watcher.text
        await watcher.look(3)
        assert watcher.text == before
        assert watcher.app.screen_state.latest.running_ns == 71 * scenes.S
        await watcher.press("p")
        await watcher.settle()
        assert watcher.app.screen_state.latest.running_ns == 72 * scenes.S

    arm = scenes.Robot()
    watch(test, [scenes.running(arm.play(100), at_s) for at_s in (1, 11, 12)])


def test_help_names_every_key_and_goes_away():
    async def test(watcher):
        before = watcher.text
        await watcher.press("question_mark")
        for key in KEYS:
            assert key.help in watcher.text
        await watcher.press("down", "space")  # nothing to move or fold here
        await watcher.press("escape")
        assert watcher.text == before

    watch(test, scenes.robot())


@pytest.mark.slow
def test_scrolling_through_thousands_of_rows_shows_them_all():
    async def test(watcher):
        await watcher.look()
        seen = set()
        last = None
        while last != (last := watcher.app.view.cursor) or last is None:
            seen |= {line.partition("  ")[0] for line in watcher.lines()}
            await watcher.press("pagedown")
        assert {f"group {number:02} ".strip() for number in range(20)} <= {line.strip() for line in seen}

    watch(test, scenes.many(1280), size=(80, 50))


@pytest.mark.slow
def test_processes_can_be_paged_through_and_not_past():
    async def test(watcher):
        await watcher.look()
        await watcher.press("w")
        assert "learner" in watcher.text
        await watcher.press(*["right_square_bracket"] * 20)
        assert "actor 11" in watcher.text
        await watcher.press(*["left_square_bracket"] * 40)
        assert "learner" in watcher.text

    watch(test, scenes.trainer(12), size=(110, 20))


def test_q_quits():
    async def test(watcher):
        await watcher.press("q")
        assert watcher.app._exit

    watch(test, scenes.robot())


def test_every_size_of_terminal_gets_a_picture_of_its_size():
    screen_state = None

    async def test(watcher):
        nonlocal screen_state
        await watcher.look()
        screen_state = watcher.app.screen_state

    watch(test, scenes.trainer(5))
    for width in (1, 2, 7, 20, 39, 64, 100, 333):
        for height in (1, 2, 3, 5, 9, 17, 40, 200):
            for view in (
                LiveView(),
                LiveView(shows_help=True),
                LiveView(is_typing=True, filter="x"),
                LiveView(processes_first=True),
            ):
                picture = draw_screen(screen_state, view, width, height)
                assert len(picture.lines) == height
                for action in set(ACTIONS.values()) - {"quit"}:
                    steer(picture, action)


def test_the_terminal_may_be_resized_while_it_is_watched():
    async def test(watcher):
        await watcher.look()
        for size in ((40, 10), (150, 50), (10, 2), (80, 24)):
            await watcher.pilot.resize_terminal(*size)
            await watcher.pilot.pause()
            assert len(watcher.lines()) == size[1]

    watch(test, scenes.robot())


def test_only_the_terminals_own_colours_are_used():
    async def test() -> None:
        async with watched(scenes.robot(), (100, 30)) as watcher:
            await watcher.look()
            colors = {
                segment.style.color.name
                for y in range(30)
                for segment in watcher.app._board.render_line(y)
                if segment.style and segment.style.color
            }
            assert colors == {"green", "red", "blue"}

    import asyncio

    asyncio.run(test())

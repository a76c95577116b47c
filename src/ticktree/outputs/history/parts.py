"""What a history shows: of each series its loops, the sections that say something, and where they changed."""

from __future__ import annotations

from collections.abc import Iterator

from ticktree.analysis.history import History, Told, Trend, Turn
from ticktree.outputs.comparison.parts import signed
from ticktree.outputs.history import wording
from ticktree.outputs.history.plot import plot, spark
from ticktree.outputs.options import ViewOptions
from ticktree.outputs.writing import formatting
from ticktree.outputs.writing.document import Entry, Head, Heading, Nothing, Part, Table, Tone
from ticktree.outputs.writing.visible import visible
from ticktree.profile import path as paths

_TRENDS = (
    Head("trend", 1, words=True),
    Head("verdict", 0, words=True),
    Head("shift", 0),
    Head("interval", 2),
    Head("now", 0),
    Head("runs", 3),
)
_TURNS = (
    Head("commit", 0, words=True),
    Head("when", 3, words=True),
    Head("shift", 0),
    Head("interval", 1),
    Head("before", 2),
    Head("after", 2),
)
_TONES: dict[str, Tone] = {
    "slower": "alarm",
    "faster": "good",
    "no change": "plain",
    "inconclusive": "faint",
    "too few runs": "faint",
}


def parts(history: History, options: ViewOptions) -> Iterator[Part]:
    """Yield what there is to show, top to bottom.

    Args:
        history: Every series.
        options: How to show it.
    """
    shown = [told for told in history.told if options.all or told.series.is_current]
    if not shown:
        yield Nothing("No run is remembered yet; `ticktree run SCRIPT` makes one.")
        return
    for told in shown:
        yield Heading(wording.title(told), [*wording.headline(told)])
        yield from _of_series(told, history, options)
    hidden = len(history.told) - len(shown)
    if hidden:
        yield Nothing(wording.hidden(hidden))


def shown_trends(told: Told, history: History, everything: bool) -> list[Trend]:
    """Return the trends that say something: those asked for, loops, the outermost sections, and what changed."""
    if everything or history.nodes:
        return list(told.trends)
    return [
        trend for trend in told.trends if trend.is_loop or trend.turns or len(paths.split(trend.path)) == 1
    ]


def last_turn(trend: Trend) -> Turn | None:
    """Return the change that the verdict is about; None where there is none."""
    if trend.verdict == "faster":
        return trend.turns[-1]
    if trend.verdict == "slower":
        return [turn for turn in trend.turns if turn.change.is_slower and turn.stands][-1]
    return None


def _of_series(told: Told, history: History, options: ViewOptions) -> Iterator[Part]:
    shown = shown_trends(told, history, options.all)
    if history.nodes:
        yield from (plot(trend, options.width) for trend in shown)
    hidden = len(told.trends) - len(shown)
    folded = (
        [f"{formatting.counted(hidden, 'section')} without a change not shown (--all)."] if hidden else []
    )
    remark = " ".join([*wording.remarks(history), *folded])
    yield Table("sections", "section", _TRENDS, [_trend(trend) for trend in shown], remark=remark)
    turns = [_turn(trend, turn, history) for trend in shown for turn in trend.turns]
    if turns:
        yield Table("changes", "section", _TURNS, turns)


def _trend(trend: Trend) -> Entry:
    turn = last_turn(trend)
    shift = (
        (formatting.ABSENT,) * 2
        if turn is None
        else (signed(turn.change.shift.estimate), wording.interval(turn))
    )
    now = formatting.time(round(trend.stretches[-1][2]))
    cells = (
        spark(trend),
        formatting.verdict(trend.verdict),
        *shift,
        now,
        formatting.count(len(trend.values)),
    )
    return Entry(visible(trend.path), cells, _TONES[trend.verdict], mark="loop" if trend.is_loop else "")


def _turn(trend: Trend, turn: Turn, history: History) -> Entry:
    change = turn.change
    levels = (formatting.time(round(ns)) for ns in (change.before, change.after))
    cells = (
        wording.commit(turn.run),
        wording.when(turn.run),
        signed(change.shift.estimate),
        wording.interval(turn),
        *levels,
    )
    return Entry(visible(trend.path), cells, _tone(turn), notes=[*wording.notes(turn, history)])


def _tone(turn: Turn) -> Tone:
    if turn.is_regression:
        return "alarm"
    return "good" if turn.stands and not turn.change.is_slower else "plain"

"""`ticktree try`: apply the remedies that findings recommend, one at a time, and measure what each gains."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile

import click

from ticktree.analysis import findings
from ticktree.analysis.context import Context
from ticktree.analysis.experiments.results import TOLERANCE, ProgramOutput, Results, compare_results
from ticktree.analysis.experiments.trials import (
    GIVE_UP_PAIRS,
    LEAST_PAIRS,
    REMEDIES,
    Remedy,
    Trial,
    Trials,
    best_of,
    remedies_for,
    tick_shift,
)
from ticktree.analysis.finding import Finding
from ticktree.cli import comparing, options
from ticktree.cli.bench import in_turn, make_folder, run_program
from ticktree.cli.files import deliver, format_of
from ticktree.cli.runs import RUN
from ticktree.cli.screen import note, progress, view_options
from ticktree.cli.summary import settings_here
from ticktree.errors import TicktreeError, reason
from ticktree.instruments.remedies import APPLIED_GAUGE, REMEDIES_VARIABLE
from ticktree.loading import find_run
from ticktree.outputs.trials import TRIALS
from ticktree.profile import Profile
from ticktree.run.finishing import RunDirectory


@click.command("try", short_help="Apply the remedies of findings, and measure them.")
@click.argument("run", metavar="[RUN]", type=RUN, required=False)
@click.option(
    "--remedy",
    "remedy_names",
    type=options.WordChoice([remedy.name for remedy in REMEDIES]),
    multiple=True,
    help="Try this remedy, even without a finding; may be given several times.",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=LEAST_PAIRS),
    default=LEAST_PAIRS,
    show_default=True,
    help="Pairs of runs for each remedy.",
)
@click.option(
    "--loop",
    "loop_path",
    metavar="PATH",
    help="The loop whose ticks are compared. By default, the main loop.",
)
@click.option(
    "--tolerance",
    metavar="PERCENT",
    type=click.FloatRange(min=0, max=100),
    default=100 * TOLERANCE,
    show_default=True,
    help="How far the program's results may deviate.",
)
@comparing.threshold
@click.option(
    "--yes", is_flag=True, help="Also run programs whose loop has a target rate: no device can come to harm."
)
@options.form(TRIALS)
@options.output
@options.out
def command(
    run: Path | None,
    remedy_names: tuple[str, ...],
    pairs: int,
    loop_path: str | None,
    tolerance: float,
    threshold: float,
    yes: bool,
    format_name: str | None,
    output: Path | None,
    out: Path,
) -> None:
    """Run the program of RUN again with each remedy that its findings recommend, and print what each gains.

    Remedies need no edit: they are environment variables, and changes that ticktree makes in the program's process.
    Each is measured in pairs of runs, one without and one with it, and ticktree checks that the program prints the
    same numbers. The best one is measured again in fresh pairs, then together with the second best. The program must
    end by itself, and should set its seed. RUN is named as for `ticktree report`; by default, it is the newest.
    """
    directory = find_run(None) if run is None else RunDirectory.open(run)
    profile = directory.profile()
    comparing.refuse_experiments([profile])
    context = Context(profile, settings_here())
    recommended = findings(profile, context.settings)
    remedies = _choose(recommended, remedy_names)
    loop = _loop(context, loop_path, yes)
    program = shlex.join(directory.manifest.argv)
    untried = [
        finding.rule
        for finding in recommended
        if finding.kind == "recommendation" and not remedies_for([finding])
    ]
    trials = Trials(program, loop, untried=tuple(dict.fromkeys(untried)))
    if remedies:
        place = make_folder(out, "try")
        trial = _Trying(directory, place, loop, pairs, threshold / 100, tolerance / 100)
        trials = _try_all(trial, trials, remedies)
    form = format_name or format_of(output, TRIALS)
    deliver(TRIALS[form](trials, view_options(sys.stdout if output is None else None)), output)
    if remedies:
        note(f"Runs kept in {place}")


def _choose(recommended: Sequence[Finding], names: Sequence[str]) -> list[tuple[Remedy, tuple[str, ...]]]:
    """Return each remedy to try, with the rules whose findings recommend it."""
    advised = remedies_for(recommended)
    if not names:
        return [(remedy, (finding.rule,)) for remedy, finding in advised.values()]
    return [
        (advised[candidate.name][0], (advised[candidate.name][1].rule,))
        if candidate.name in advised
        else (candidate, ())
        for candidate in REMEDIES
        if candidate.name in names
    ]


def _loop(context: Context, path: str | None, may_have_rate: bool) -> str:
    """Return the path of the loop whose ticks are compared; refuse one that may drive a device."""
    loops = {view.path: view.loop for view in context.loops if view.loop is not None}
    rated = [name for name, loop in loops.items() if loop.hz]
    if rated and not may_have_rate:
        raise TicktreeError(
            f"the loop {rated[0]} has a target rate, and may drive a device: give --yes if the program may run "
            "repeatedly"
        )
    if not loops:
        raise TicktreeError("the run has no loop to compare: mark one with ticktree.loop(name)")
    if path is not None and path not in loops:
        raise TicktreeError(f"no loop {path} was recorded; there are: {', '.join(loops)}")
    return path or next(iter(loops))


@dataclass(frozen=True, slots=True)
class _Trying:
    """Runs the program of a run again, with and without remedies."""

    run: RunDirectory
    place: Path
    loop: str
    pairs: int
    threshold: float  # the smallest shift that matters, as a fraction
    tolerance: float  # how far a result may deviate, as a fraction of it

    def trial(
        self, remedies: tuple[Remedy, ...], rules: tuple[str, ...], doing: str, patient: bool = False
    ) -> Trial:
        """Measure remedies together in pairs of runs; if `patient`, in all pairs even if the first show no gain."""
        trial = Trial(remedies, rules, 0, None, None, None, "inconclusive", Results("not comparable"))
        runs: tuple[list[Profile], list[Profile]] = ([], [])
        outputs: tuple[list[ProgramOutput], list[ProgramOutput]] = ([], [])
        folder = self.place / "+".join(
            (*(remedy.name for remedy in remedies), *(["again"] if patient else []))
        )
        for number, side in in_turn(self.pairs):
            with progress(f"{doing}: pair {number + 1} of {self.pairs}, {('without', 'with')[side]}"):
                try:
                    profile, text = self._run(remedies if side else (), folder / ("base", "remedy")[side])
                except TicktreeError as error:
                    if not side:
                        raise
                    return replace(trial, failure=reason(error))
            runs[side].append(profile)
            outputs[side].append(ProgramOutput.of(text, profile))
            if len(runs[0]) != len(runs[1]) or len(runs[0]) < min(GIVE_UP_PAIRS, self.pairs):
                continue
            try:
                base_ns, new_ns, shift, verdict = tick_shift(*runs, self.loop, self.threshold)
            except ValueError:
                return replace(trial, failure=f"a run had no steady tick of {self.loop}")
            results = compare_results(*outputs, self.tolerance)
            trial = Trial(remedies, rules, len(runs[0]), base_ns, new_ns, shift, verdict, results)
            if results.state == "changed" or (not patient and shift.estimate > -self.threshold):
                break
        return trial

    def _run(self, remedies: Sequence[Remedy], out: Path) -> tuple[Profile, str]:
        variables = {key: value for remedy in remedies for key, value in remedy.environment.items()}
        if remedies:
            variables[REMEDIES_VARIABLE] = ",".join(remedy.word for remedy in remedies)
        with TemporaryFile() as printed:
            profile = run_program(self.run.manifest.argv, out, variables, printed, self.run.manifest.cwd)
            for remedy in remedies:
                if remedy.is_patch and APPLIED_GAUGE + remedy.name not in profile.gauges:
                    raise TicktreeError(f"the program has nothing that {remedy.name} changes")
            printed.seek(0)
            return profile, printed.read().decode(errors="replace")


def _try_all(trying: _Trying, trials: Trials, remedies: Sequence[tuple[Remedy, tuple[str, ...]]]) -> Trials:
    tried = [trying.trial((remedy,), rules, remedy.word) for remedy, rules in remedies]
    best = best_of(tried, 2)
    winner = both = None
    if best:
        winner = trying.trial(best[0].remedies, best[0].rules, f"{best[0].name} again", patient=True)
    if len(best) > 1:
        pair = best[0].remedies + best[1].remedies
        rules = tuple(dict.fromkeys(rule for trial in best for rule in trial.rules))
        both = trying.trial(pair, rules, " and ".join(remedy.name for remedy in pair), patient=True)
    return replace(trials, trials=tuple(tried), winner=winner, both=both)

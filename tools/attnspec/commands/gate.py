"""``attnspec gate``: hold a run against a baseline, for CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.base.errors import UsageError
from attnspec.command_line.command_options import RunOptions, with_options_of, with_run_options
from attnspec.command_line.running_target import run_target, write_reports
from attnspec.command_line.terminal import make_console, printing_verdict

if TYPE_CHECKING:
    from attnspec.cases import Suite


@click.command()
@with_run_options
@with_options_of("gate")
def gate(
    options: RunOptions,
    *,
    baseline: Path | None,
    update_baseline: bool,
    reasons: tuple[str, ...],
    lenient: bool,
    require: tuple[str, ...],
    minimum_accuracy: float | None,
    summary: Path | None,
    annotate: bool,
) -> int:
    """Let TARGET through if it is as good as its baseline, or, without one, if nothing is wrong.

    TARGET and the options that select are those of `attnspec validate`.
    """
    from attnspec.cases import read_index
    from attnspec.cases.releases import read_retired
    from attnspec.gate import printing
    from attnspec.gate.decision import Demands, judge

    if update_baseline and baseline is None:
        raise UsageError("--update-baseline: say where it is to be written, with --baseline FILE.")
    if reasons and not update_baseline:
        raise UsageError("--reason: it is written beside failures by --update-baseline; give both.")
    # Written so that NaN, too, is refused.
    if minimum_accuracy is not None and not minimum_accuracy >= 0:
        raise UsageError(f"--minimum-accuracy {minimum_accuracy}: give a number, such as 0.1.")
    _check_file("--baseline", baseline)
    _check_file("--summary", summary)
    known = None
    if baseline is not None and (baseline.exists() or not update_baseline):
        from attnspec.gate.storing import read_baseline

        known = read_baseline(baseline)
    console = make_console()
    report, suite = run_target(options, console, check=lambda suite: _check_required(require, suite))
    ids = read_index(suite.folder)
    notes: list[str] = []
    if baseline is not None and update_baseline:
        from attnspec.gate.storing import write_baseline
        from attnspec.gate.updating import update_sentences, updated_baseline

        new = updated_baseline(known, report, suite_ids=ids, reasons=reasons)
        if new is not None:
            write_baseline(new, baseline)
            notes += update_sentences(new, known, str(baseline), reasons)
        known = new
    retired = {case_id: tombstone.reason for case_id, tombstone in read_retired(suite.folder).items()}
    outcome = judge(report, known, Demands(lenient, require, minimum_accuracy), suite_ids=ids, retired=retired)
    if known is not None:
        notes += printing.baseline_sentences(report, known, str(baseline))
    diagnosis = printing.diagnosis_of_unexpected(report, outcome)
    try:
        if options.reports:
            write_reports(options, printing.gated_report(report, outcome, known, diagnosis), suite)
        if summary is not None:
            reported = (*printing.diagnosis_sentences(diagnosis), *notes)
            try:
                with summary.open("a", encoding="utf-8") as file:
                    file.write(printing.outcome_markdown(outcome, notes=reported))
            except OSError as error:
                raise UsageError(f"The summary could not be written to {summary}: {error.strerror}.") from None
    finally:
        with printing_verdict():
            printing.print_outcome(
                outcome,
                console,
                diagnosis=diagnosis,
                results=report.results,
                notes=notes,
                quiet=options.quiet,
                verbose=options.verbose,
            )
            for annotation in printing.github_annotations(outcome) if annotate else ():
                click.echo(annotation)
    return 0 if outcome.is_open else 1


def _check_file(option: str, path: Path | None) -> None:
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        raise UsageError(f"{option} {path}: name a file in a folder that exists.")


def _check_required(require: tuple[str, ...], suite: Suite) -> None:
    """Raise `UsageError` for what is required and not run; found out before the run, not after it."""
    profiles = sorted({case.profile for case in suite.cases.values()})
    operations = sorted({case.operation for case in suite.cases.values()})
    for name in require:
        if name not in (*profiles, *operations):
            raise UsageError(
                f"--require {name}: the profiles of this run are {', '.join(profiles)}, "
                f"its operations {', '.join(operations)}."
            )

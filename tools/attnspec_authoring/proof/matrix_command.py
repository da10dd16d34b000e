"""``attnspec mistakes --matrix`` and ``--judged``: run the proof, print what it finds, and write files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from attnspec.base.errors import UsageError
from attnspec.cases import canonical_json, load_suite
from attnspec.cases.reading import ORDER, SMOKE
from attnspec.cases.selecting import order_text, smoke_text
from attnspec.command_line.terminal import write_file
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.specification import clauses
from attnspec_authoring.proof.cache import Cache
from attnspec_authoring.proof.findings import find, matrix_json
from attnspec_authoring.proof.judged_by import judged_document, judged_files, try_judged
from attnspec_authoring.proof.matrix import noticed_document
from attnspec_authoring.proof.matrix_html import matrix_html
from attnspec_authoring.proof.narrowing import chosen_subjects, narrowed_lines
from attnspec_authoring.proof.running import run_matrix
from attnspec_authoring.proof.smoke import calling_order, smallest_core
from attnspec_mistakes.kill_matrix import KEPT_IN, NOTICED
from attnspec_mistakes.labelled_mistakes import JUDGED

if TYPE_CHECKING:
    from pathlib import Path

    from attnspec_authoring.proof.findings import Findings
    from attnspec_authoring.proof.matrix import Matrix


def whole_matrix(
    json_file: Path | None,
    html_file: Path | None,
    golden: Path | None,
    processes: int | None,
    write_smoke: bool,
    write_noticed: bool,
    *,
    caching: bool,
) -> int:
    """Run every mistake and control over every case, print what is found, and write files; return the exit status."""
    for option, path in (("--write-matrix", json_file), ("--html", html_file)):
        if path is not None and not path.parent.is_dir():
            raise UsageError(f"{option} {path}: there is no folder {str(path.parent)!r}.")
    suite = load_suite(golden)
    whole_in = FLOAT_DTYPES if json_file or html_file else KEPT_IN if write_noticed or write_smoke else ()
    cache = Cache() if caching else None
    matrix = run_matrix(golden, whole_in=whole_in, cache=cache, processes=processes)
    exercised = {clause for case in suite.cases.values() for clause in case.clauses}
    findings = find(matrix, clauses(), exercised)
    _say(matrix, findings)
    if json_file is not None:
        write_file(json_file, canonical_json(matrix_json(matrix, findings)))
    if html_file is not None:
        write_file(html_file, matrix_html(matrix, findings))
    if write_smoke:
        core = smallest_core(matrix, golden)
        write_file(suite.folder / SMOKE, smoke_text(core))
        write_file(suite.folder / ORDER, order_text(calling_order(core, matrix)))
        click.echo(f"The smallest core has {len(core)} cases.")
    if write_noticed:
        write_file(NOTICED, canonical_json(noticed_document(matrix)))
    return 0 if findings.is_sound else 1


def part_of_matrix(
    chosen: tuple[str, ...],
    cases: tuple[str, ...],
    golden: Path | None,
    processes: int | None,
    write_noticed: bool,
    *,
    caching: bool,
) -> int:
    """Run some mistakes and controls over some cases, and say what each of them did; return the exit status."""
    suite = load_suite(golden, select=cases)
    only = chosen_subjects(chosen, {case.operation for case in suite.cases.values()})
    if not only:
        raise UsageError("The cases are of other operations than the mistakes, so there is nothing to run.")
    cache = Cache(of_part=bool(cases)) if caching else None
    whole_in = KEPT_IN if write_noticed else ()
    matrix = run_matrix(golden, select=cases, only=only, whole_in=whole_in, cache=cache, processes=processes)
    if write_noticed:
        write_file(NOTICED, canonical_json(noticed_document(matrix, beside=NOTICED)))
    lines, is_sound = narrowed_lines(matrix, every_case=not cases)
    for line in lines:
        click.echo(line)
    click.echo(f"{len(matrix.trials)} of them over {len(matrix.cases)} cases: {matrix.seconds:.1f} s")
    return 0 if is_sound else 1


def write_judged(folders: tuple[Path, ...], golden: Path | None, processes: int | None) -> int:
    """Write which cases notice the judged implementations of some folders; return the exit status."""
    tried = try_judged(judged_files(folders), golden, processes)
    write_file(JUDGED, canonical_json(judged_document(tried, golden)))
    unnoticed = sum(not any(entry.noticed.values()) for entry in tried)
    click.echo(f"{len(tried)} implementations of {len(folders)} folders; no case notices {unnoticed} of them.")
    return 0


def _say(matrix: Matrix, findings: Findings) -> None:
    click.echo(
        f"{len(matrix.mistakes)} mistakes and {len(matrix.controls)} controls over {len(matrix.cases)} cases "
        f"in {', '.join(matrix.dtypes)}: {matrix.seconds:.0f} s"
    )
    for line in (
        *(f"survives: {mistake} in {dtype}" for mistake, dtype in findings.surviving),
        *(f"missed: {case} is there to catch {mistake}, and does not" for case, mistake in findings.missed_targets),
        *(f"untargeted: no case is there to catch {mistake}" for mistake in findings.untargeted),
        *(
            f"unjust: {case} fails the control {control} in {dtype}"
            for control, dtype, case in findings.failing_controls
        ),
        *(f"unexercised: no case exercises {clause}" for clause in findings.unexercised),
        *(f"unbroken: no mistake breaks {clause}" for clause in findings.unbroken),
    ):
        click.echo(line)
    click.echo(f"{len(findings.unseen)} mistakes cannot be seen in some half precision.")
    click.echo(f"{len(findings.redundant)} cases notice nothing that another case does not.")
    if findings.is_sound:
        click.echo("Nothing survives, and nothing right fails.")

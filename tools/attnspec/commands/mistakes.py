"""``attnspec mistakes``: the catalogue of mistakes, and the proof that the cases notice them."""

from pathlib import Path
from typing import Any

import click

from attnspec.base.errors import UsageError
from attnspec.cases import canonical_json, load_suite
from attnspec.cases.reading import ORDER, SMOKE
from attnspec.cases.selecting import order_text, smoke_text
from attnspec.command_line.command_options import with_options_of
from attnspec.command_line.terminal import write_file
from attnspec.commands.authoring import authoring_package
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES


@click.command()
@with_options_of("mistakes")
def mistakes(
    operation: str | None,
    run: bool,
    chosen: tuple[str, ...],
    cases: tuple[str, ...],
    json_file: Path | None,
    html_file: Path | None,
    write_smoke: bool,
    write_noticed: bool,
    judged: tuple[Path, ...],
    no_cache: bool,
    processes: int | None,
    golden: Path | None,
) -> int:
    """List the known mistakes, or prove with --matrix that the cases notice them."""
    if judged:
        if operation or run or chosen or cases or json_file or html_file or write_smoke or write_noticed or no_cache:
            raise UsageError("--judged is of no mistake of the catalogue; only --golden and --processes go with it.")
        return _write_judged(judged, golden, processes)
    written = json_file or html_file or write_smoke or write_noticed
    if run:
        if operation is not None:
            if chosen or cases or json_file or html_file or write_smoke:
                raise UsageError("With --matrix, --operation goes with --write-noticed alone.")
            _check_operation(operation)
            chosen = (f"{OPERATIONS[operation].short_name}.*",)
            return _run_part(chosen, (), golden, processes, write_noticed, caching=not no_cache)
        if not chosen and not cases:
            return _run(json_file, html_file, golden, processes, write_smoke, write_noticed, caching=not no_cache)
        if written:
            raise UsageError("What is written is about the whole matrix; leave out --mistake and --case.")
        return _run_part(chosen, cases, golden, processes, write_noticed=False, caching=not no_cache)
    if chosen or cases or no_cache:
        raise UsageError("--mistake, --case and --no-cache are about what --matrix runs; give --matrix, too.")
    if written:
        options = "--write-matrix, --html, --write-smoke and --write-noticed"
        raise UsageError(f"{options} write what --matrix computes; give --matrix, too.")
    from attnspec_mistakes import CATALOGUE, mistakes_of

    if operation is not None:
        _check_operation(operation)
    listed = CATALOGUE if operation is None else mistakes_of(operation)
    width = max((len(mistake.id) for mistake in listed), default=0)
    for mistake in listed:
        click.echo(f"{mistake.id:{width}}  {mistake.sentence}")
    return 0


def _check_operation(operation: str) -> None:
    if operation not in OPERATIONS:
        raise UsageError(f"There is no operation {operation!r}; the operations are {', '.join(OPERATIONS)}.")


def _run(
    json_file: Path | None,
    html_file: Path | None,
    golden: Path | None,
    processes: int | None,
    write_smoke: bool,
    write_noticed: bool,
    *,
    caching: bool,
) -> int:
    from attnspec.specification import clauses
    from attnspec_mistakes.kill_matrix import KEPT_IN, NOTICED

    proof = authoring_package("proof", wanted_by="attnspec mistakes --matrix")
    for option, path in (("--write-matrix", json_file), ("--html", html_file)):
        if path is not None and not path.parent.is_dir():
            raise UsageError(f"{option} {path}: there is no folder {str(path.parent)!r}.")
    suite = load_suite(golden)
    whole_in = FLOAT_DTYPES if json_file or html_file else KEPT_IN if write_noticed or write_smoke else ()
    cache = proof.Cache() if caching else None
    matrix = proof.run_matrix(golden, whole_in=whole_in, cache=cache, processes=processes)
    exercised = {clause for case in suite.cases.values() for clause in case.clauses}
    findings = proof.find(matrix, clauses(), exercised)
    _say(matrix, findings)
    if json_file is not None:
        write_file(json_file, canonical_json(proof.matrix_json(matrix, findings)))
    if html_file is not None:
        write_file(html_file, proof.matrix_html(matrix, findings))
    if write_smoke:
        core = proof.smallest_core(matrix, golden)
        write_file(suite.folder / SMOKE, smoke_text(core))
        write_file(suite.folder / ORDER, order_text(proof.calling_order(core, matrix)))
        click.echo(f"The smallest core has {len(core)} cases.")
    if write_noticed:
        write_file(NOTICED, canonical_json(proof.noticed_document(matrix)))
    return 0 if findings.is_sound else 1


def _run_part(
    chosen: tuple[str, ...],
    cases: tuple[str, ...],
    golden: Path | None,
    processes: int | None,
    write_noticed: bool,
    *,
    caching: bool,
) -> int:
    from attnspec_mistakes.kill_matrix import KEPT_IN, NOTICED

    proof = authoring_package("proof", wanted_by="attnspec mistakes --matrix")
    suite = load_suite(golden, select=cases)
    only = proof.chosen_subjects(chosen, {case.operation for case in suite.cases.values()})
    if not only:
        raise UsageError("The cases are of other operations than the mistakes, so there is nothing to run.")
    cache = proof.Cache(of_part=bool(cases)) if caching else None
    whole_in = KEPT_IN if write_noticed else ()
    matrix = proof.run_matrix(golden, select=cases, only=only, whole_in=whole_in, cache=cache, processes=processes)
    if write_noticed:
        write_file(NOTICED, canonical_json(proof.noticed_document(matrix, beside=NOTICED)))
    lines, is_sound = proof.narrowed_lines(matrix, every_case=not cases)
    for line in lines:
        click.echo(line)
    click.echo(f"{len(matrix.trials)} of them over {len(matrix.cases)} cases: {matrix.seconds:.1f} s")
    return 0 if is_sound else 1


def _write_judged(folders: tuple[Path, ...], golden: Path | None, processes: int | None) -> int:
    from attnspec_mistakes.labelled_mistakes import JUDGED

    proof = authoring_package("proof", wanted_by="attnspec mistakes --judged")
    tried = proof.try_judged(proof.judged_files(folders), golden, processes)
    write_file(JUDGED, canonical_json(proof.judged_document(tried, golden)))
    unnoticed = sum(not any(entry.noticed.values()) for entry in tried)
    click.echo(f"{len(tried)} implementations of {len(folders)} folders; no case notices {unnoticed} of them.")
    return 0


def _say(matrix: Any, findings: Any) -> None:
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

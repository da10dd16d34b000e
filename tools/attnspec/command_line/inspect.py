"""``attnspec list``, ``show``, ``explain`` and ``check``: looking at the suite itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnspec.cases import Case


@click.command("list")
@click.option("--profile", "profiles", multiple=True, metavar="PROFILE", help="Only this profile. Repeatable.")
@click.option("--select", multiple=True, metavar="GLOB", help="Only matching ids. Repeatable.")
@click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files.")
def list_cases(profiles: tuple[str, ...], select: tuple[str, ...], golden: Path | None) -> None:
    """List the cases: id and title."""
    from attnspec.cases import load_suite

    suite = load_suite(golden, profiles=profiles, select=select)
    width = max(len(case_id) for case_id in suite.cases)
    for case in suite.cases.values():
        click.echo(f"{case.id:{width}}  {case.title}")


@click.command()
@click.argument("case")
@click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files.")
def show(case: str, golden: Path | None) -> None:
    """Show one CASE: what it is about, its inputs and its certified values."""
    import numpy as np

    shown = _case(case, golden)
    click.echo(f"{shown.id} (revision {shown.revision}): {shown.title}")
    click.echo(f"operation   {shown.operation}")
    click.echo(f"source      {', '.join(shown.source.values())}")
    click.echo(f"dtypes      {', '.join(shown.dtypes) or 'no floats: runs once'}")
    click.echo(f"attributes  {dict(shown.attributes) or 'none'}")
    click.echo(f"clauses     {', '.join(shown.clauses)}")
    if shown.errata:
        click.echo(f"errata      {', '.join(shown.errata)}")
    if shown.conventions:
        click.echo(f"depends on  {', '.join(shown.conventions)}")
    with np.printoptions(precision=17, threshold=60, edgeitems=3, linewidth=100):
        for name, array in shown.inputs.items():
            click.echo(f"\ninput {name} {array.shape}\n{array}")
        for dtype, outputs in (shown.expected or {}).items():
            for name, array in outputs.items():
                click.echo(f"\nexpected {name} {array.shape}, {dtype}\n{array}")
    if shown.rejects is not None:
        click.echo(f"\nmust be refused: {shown.rejects.reason}\nits valid twin: {shown.rejects.twin}")
    if shown.properties is not None:
        click.echo(f"\ngraded by properties: {dict(shown.properties)}")
    for printed in shown.printed:
        verdict = "agrees" if printed["agrees"] else f"does not agree: {printed.get('erratum')}"
        click.echo(f"\nprinted for {printed['of']} in {printed['section']} ({verdict})\n{printed['data']}")


@click.command()
@click.argument("id")
def explain(id: str) -> None:  # noqa: A002 - the argument's name in the usage line
    """Explain a clause, an erratum, a mistake or a case by its ID."""
    from attnspec.cases import load_suite
    from attnspec.specification import clauses, errata
    from attnspec_reference.mistakes import CATALOGUE

    mistakes = {mistake.id: mistake for mistake in CATALOGUE}
    if id in clauses():
        clause = clauses()[id]
        click.echo(f"{id} (clause, spec/operations/{clause.page})\n{clause.text}")
        _echo_related("cases", [case.id for case in load_suite().cases.values() if id in case.clauses])
        _echo_related("mistakes", [mistake.id for mistake in CATALOGUE if mistake.clause == id])
    elif id in errata():
        erratum = errata()[id]
        click.echo(f"{id} (erratum, spec/errata.md): {erratum.title}\n\n{erratum.text}")
        _echo_related("cases", [case.id for case in load_suite().cases.values() if id in case.errata])
    elif id in mistakes:
        mistake = mistakes[id]
        click.echo(f"{id} (mistake)\n{mistake.sentence}\n{mistake.remedy}\nIt breaks {mistake.clause}.")
        if mistake.erratum:
            click.echo(f"A source document makes it: {mistake.erratum}.")
    else:
        case = _case(id, None, others=(*clauses(), *errata(), *mistakes), or_else="clause, erratum, mistake or case")
        click.echo(f"{id} (case): {case.title}")
        for clause_id in case.clauses:
            clause = clauses().get(clause_id)
            click.echo(f"  {clause_id}: {clause.text if clause else ''}")


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files.")
def check(files: tuple[Path, ...], golden: Path | None) -> int:
    """Check golden FILES, or all of them, against schema, digests and what was released."""
    from attnspec.cases import RECORDS, check_file, load_suite, read_index
    from attnspec.locations import golden_folder
    from attnspec.releases import broken_promises

    whole = not files
    if whole:
        folder = golden or golden_folder()
        files = tuple(folder / f"{case_id}.json" for case_id in read_index(folder))
        load_suite(folder)
    for path in files:
        if not path.is_file():
            raise UsageError(f"There is no file {str(path)!r}.")
        check_file(path, kind=path.stem if path.name in RECORDS else "case")
    broken = broken_promises(golden or golden_folder()) if whole else ()
    for sentence in broken:
        click.echo(sentence, err=True)
    if broken:
        return 1
    click.echo("1 file is sound." if len(files) == 1 else f"{len(files)} files are sound.")
    return 0


def _case(case_id: str, golden: Path | None, *, others: Sequence[str] = (), or_else: str = "case") -> Case:
    """Return one case, or say which ids (of `others` as well) come near."""
    from attnspec.cases import load_suite, near, read_index
    from attnspec.locations import golden_folder

    ids = read_index(golden or golden_folder())
    if case_id not in ids:
        raise UsageError(f"There is no {or_else} {case_id!r}.{near(case_id, (*ids, *others))}")
    return load_suite(golden, select=(case_id,)).cases[case_id]


def _echo_related(what: str, ids: list[str]) -> None:
    if ids:
        click.echo(f"{what}: {', '.join(ids)}")

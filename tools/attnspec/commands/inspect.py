"""``attnspec list``, ``show`` and ``check``: looking at the suite itself."""

from collections.abc import Sequence
from pathlib import Path

import click

from attnspec.base.errors import UsageError
from attnspec.base.extensions import FORGOTTEN, imported_for
from attnspec.command_line.command_options import with_options_of
from attnspec.commands.explain import find_case

_LISTED = ("id", "title", "operation", "profile", "clauses", "targets", "errata", "conventions", "revision")
"""Facts of a case in JSON, beside its dtypes."""


@click.command("list")
@with_options_of("list")
def list_cases(
    profiles: tuple[str, ...],
    select: tuple[str, ...],
    operations: tuple[str, ...],
    clauses: tuple[str, ...],
    mistakes: tuple[str, ...],
    *,
    as_json: bool,
    golden: Path | None,
) -> None:
    """List the cases: id and title. Options of several kinds must all hold; of one kind, any."""
    from attnspec.cases import canonical_json, load_suite
    from attnspec_mistakes import CATALOGUE
    from attnspec_mistakes.kill_matrix import KEPT_IN, noticed_cases

    _check_words(operations, clauses, mistakes)
    suite = load_suite(golden, profiles=profiles, select=select, whole=True)
    noticing = {
        case
        for mistake in CATALOGUE
        if mistake.id in mistakes
        for dtype in KEPT_IN
        for case in noticed_cases(mistake.operation, dtype).get(mistake.id, ())
    }
    cases = [
        case
        for case in suite.cases.values()
        if (not operations or case.operation in operations)
        and (not clauses or not set(clauses).isdisjoint(case.clauses))
        and (not mistakes or case.id in noticing)
    ]
    if not cases:
        raise UsageError("No case is all of this: --profile, --select, --operation, --clause, --mistake must all hold.")
    if as_json:
        entries = [{"dtypes": case.runs, **{name: getattr(case, name) for name in _LISTED}} for case in cases]
        click.echo(canonical_json(entries), nl=False)
        return
    width = max(len(case.id) for case in cases)
    for case in cases:
        click.echo(f"{case.id:{width}}  {case.title}")


def _check_words(operations: Sequence[str], clauses: Sequence[str], mistakes: Sequence[str]) -> None:
    """Raise `UsageError` for a word that narrows the list and that nobody knows."""
    from attnspec.cases import near
    from attnspec.contract import OPERATIONS
    from attnspec.specification import clauses as known_clauses
    from attnspec_mistakes import CATALOGUE

    ids = {mistake.id for mistake in CATALOGUE} if mistakes else set[str]()
    for kind, words, known in (
        ("operation", operations, OPERATIONS),
        ("clause", clauses, known_clauses()),
        ("mistake", mistakes, ids),
    ):
        for word in words:
            if word not in known:
                raise UsageError(f"--{kind} {word}: there is no such {kind}.{near(word, known)}")


@click.command()
@with_options_of("show")
def show(case: str, as_script: bool, golden: Path | None) -> None:
    """Show one CASE: what it is about, its inputs and its certified values."""
    import numpy as np

    from attnspec.contract.dtypes import own_dtype

    shown = find_case(case, golden)
    if as_script:
        from attnspec.commands.python_script import python_script
        from attnspec.families.lookup import family_of

        click.echo(python_script(shown, family_of(shown.operation).formula), nl=False)
        return
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
        for name, tensor in shown.generated.items():
            click.echo(f"\ninput {name} {tensor.shape}, generated\n{tensor.to_json()}")
        for name in (name for name in shown.inputs if name not in shown.generated):
            array = shown.inputs[name]
            own = own_dtype(array)
            click.echo(f"\ninput {name} {array.shape}{f', {own}' if own else ''}\n{array}")
        for dtype, outputs in (shown.expected or {}).items():
            for name, array in outputs.items():
                click.echo(f"\nexpected {name} {array.shape}, {dtype}\n{array}")
    if shown.rejects is not None:
        click.echo(f"\nmust be refused: {shown.rejects.reason}\nits valid counterpart: {shown.rejects.counterpart}")
    if shown.properties is not None:
        click.echo(f"\ngraded by properties: {dict(shown.properties)}")
    if shown.changed_argument is not None:
        changed = shown.changed_argument
        click.echo(f"\ncalled once more with {changed.name} alone changed, to {changed.change}")
    for printed in shown.printed:
        verdict = "agrees" if printed["agrees"] else f"does not agree: {printed.get('erratum')}"
        click.echo(f"\nprinted for {printed['of']} in {printed['section']} ({verdict})\n{printed['data']}")


@click.command()
@with_options_of("check")
def check(files: tuple[Path, ...], golden: Path | None, *, everything: bool) -> int:
    """Check golden FILES, or all of them, against schema, digests and what was released."""
    if everything:
        forgotten = imported_for("check --all", FORGOTTEN)()
        for sentence in forgotten:
            click.echo(sentence, err=True)
        if forgotten:
            return 1
    from attnspec.base.files import GOLDEN_FOLDER
    from attnspec.cases import check_file, load_suite, read_index
    from attnspec.cases.reading import RECORDS, check_indexed_file
    from attnspec.cases.releases import broken_promises
    from attnspec.cases.stored_tolerances import unsound_files

    if not files:
        folder = golden or GOLDEN_FOLDER
        entries = read_index(folder)
        # First, as a digest may vouch for nonsense.
        for case_id in entries:
            check_file(folder / f"{case_id}.json")
        load_suite(folder, whole=True)
        broken = [*broken_promises(folder), *unsound_files(folder)]
        for sentence in broken:
            click.echo(sentence, err=True)
        if broken:
            return 1
        click.echo(_soundness(len(entries), sum("checked" in entry for entry in entries.values())))
        return 0
    without_digest = 0
    for path in files:
        if not path.is_file():
            raise UsageError(f"There is no file {str(path)!r}.")
        if path.name in RECORDS:
            check_file(path, kind=path.stem)
        elif not check_indexed_file(path, golden or GOLDEN_FOLDER):
            without_digest += 1
    click.echo(_soundness(len(files), without_digest))
    return 0


def _soundness(files: int, without_digest: int) -> str:
    """Say how many files are sound, and of how many no index knew a digest."""
    sound = "1 file is sound" if files == 1 else f"{files} files are sound"
    return f"{sound}, {without_digest} without a digest, as no index names it." if without_digest else f"{sound}."

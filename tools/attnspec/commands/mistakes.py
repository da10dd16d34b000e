"""``attnspec mistakes``: the catalogue of mistakes, and the proof that the cases notice them."""

from pathlib import Path

import click

from attnspec.base.errors import UsageError
from attnspec.base.extensions import JUDGED, PART_OF_MATRIX, WHOLE_MATRIX, imported_for
from attnspec.command_line.command_options import with_options_of
from attnspec.contract import OPERATIONS
from attnspec.validation import check_operation


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
        return imported_for("mistakes --judged", JUDGED)(judged, golden, processes)
    written = json_file or html_file or write_smoke or write_noticed
    if run:
        if operation is not None:
            if chosen or cases or json_file or html_file or write_smoke:
                raise UsageError("With --matrix, --operation goes with --write-noticed alone.")
            check_operation(operation)
            chosen = (f"{OPERATIONS[operation].short_name}.*",)
        elif not chosen and not cases:
            prove = imported_for("mistakes --matrix", WHOLE_MATRIX)
            return prove(json_file, html_file, golden, processes, write_smoke, write_noticed, caching=not no_cache)
        elif written:
            raise UsageError("What is written is about the whole matrix; leave out --mistake and --case.")
        prove = imported_for("mistakes --matrix", PART_OF_MATRIX)
        return prove(chosen, cases, golden, processes, write_noticed, caching=not no_cache)
    if chosen or cases or no_cache:
        raise UsageError("--mistake, --case and --no-cache are about what --matrix runs; give --matrix, too.")
    if written:
        options = "--write-matrix, --html, --write-smoke and --write-noticed"
        raise UsageError(f"{options} write what --matrix computes; give --matrix, too.")
    from attnspec_mistakes import CATALOGUE, mistakes_of

    if operation is not None:
        check_operation(operation)
    listed = CATALOGUE if operation is None else mistakes_of(operation)
    width = max((len(mistake.id) for mistake in listed), default=0)
    for mistake in listed:
        click.echo(f"{mistake.id:{width}}  {mistake.sentence}")
    return 0

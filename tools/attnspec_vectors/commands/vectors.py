"""``attnspec vectors DIR``: the golden cases as test vectors that other projects copy."""

from pathlib import Path

import click

from attnspec.base.files import check_replaceable
from attnspec.command_line.command_options import with_options_of
from attnspec_vectors.commands import OPTIONS


@click.command("vectors")
@with_options_of("vectors", OPTIONS)
def vectors(
    folder: Path, *, archive: Path | None, profiles: tuple[str, ...], operations: tuple[str, ...], golden: Path | None
) -> int:
    """Write the golden cases into DIR as test vectors, one JSON file for each operation and profile.

    A program in any language reads them with a JSON parser, and needs one rule, which DIR/README.md states.
    """
    from attnspec.cases import load_suite
    from attnspec.cases.selecting import of_operations
    from attnspec.reports.wording import counted
    from attnspec.validation import check_operation
    from attnspec_vectors.release import check_archive_name, write_archive, write_release

    for operation in operations:
        check_operation(operation)
    if archive is not None:
        check_archive_name(archive)
        check_replaceable(archive, "--archive")
    suite = of_operations(load_suite(golden, profiles=profiles), operations)
    release = write_release(suite, folder)
    written = f"{counted(sum(release.tests.values()), 'vector')} of {counted(len(release.tests), 'operation')}"
    click.echo(f"{written} written to {folder}, {release.size / 1e6:.1f} MB.")
    if archive is not None:
        click.echo(f"{archive} holds them in {write_archive(folder, release, archive) / 1e6:.1f} MB.")
    return 0

"""``attnspec vectors DIR``: the golden cases as test vectors that other projects copy."""

from pathlib import Path

import click

from attnspec.base.errors import UsageError
from attnspec.base.extensions import import_object
from attnspec.base.files import check_replaceable
from attnspec.command_line.command_options import with_options_of
from attnspec_vectors.commands import OPTIONS

JSON = "json"
FORMS = {
    "onnx": "attnspec_vectors.onnx_directories:write_directories",
    "hipdnn": "attnspec_vectors.attention.hipdnn_bundles:write_bundles",
}
"""Form of another suite to the function that writes cases in it, and says how many."""


@click.command("vectors")
@with_options_of("vectors", OPTIONS)
def vectors(
    folder: Path,
    *,
    form: str,
    archive: Path | None,
    profiles: tuple[str, ...],
    operations: tuple[str, ...],
    golden: Path | None,
) -> int:
    """Write the golden cases into DIR as test vectors, one JSON file for each operation and profile.

    A program in any language reads them with a JSON parser, and needs one rule, which DIR/README.md states.
    """
    from attnspec.cases import load_suite
    from attnspec.cases.selecting import of_operations
    from attnspec.reports.wording import counted
    from attnspec.validation import check_operation
    from attnspec_vectors.release import check_archive_name, check_new, write_archive, write_release

    for operation in operations:
        check_operation(operation)
    if form not in (JSON, *FORMS):
        raise UsageError(f"--form {form}: the forms are {', '.join((JSON, *FORMS))}.")
    if archive is not None:
        if form != JSON:
            raise UsageError(f"--archive {archive}: an archive has the form {JSON}; leave out --form {form}.")
        check_archive_name(archive)
        check_replaceable(archive, "--archive")
    suite = of_operations(load_suite(golden, profiles=profiles), operations)
    if form in FORMS:
        check_new(folder)
        try:
            count = import_object(FORMS[form])(suite, folder)
        except OSError as error:
            raise UsageError(f"The tests could not be written to {folder}: {error.strerror}.") from None
        click.echo(f"{counted(count, 'test')} in the form {form} written to {folder}.")
        return 0
    release = write_release(suite, folder)
    written = f"{counted(sum(release.tests.values()), 'vector')} of {counted(len(release.tests), 'operation')}"
    click.echo(f"{written} written to {folder}, {release.size / 1e6:.1f} MB.")
    if archive is not None:
        click.echo(f"{archive} holds them in {write_archive(folder, release, archive) / 1e6:.1f} MB.")
    return 0

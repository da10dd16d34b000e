"""``attnspec export DIR``: cases as files, with expected values and their tolerances."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnspec.base.errors import UsageError

if TYPE_CHECKING:
    from attnspec.cases import Suite


@click.command("export")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--format", "tensors", required=True, metavar="FORMAT", help="npz, safetensors or json.")
@click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE", help="Only this dtype. Repeatable.")
@click.option("--profile", "profiles", multiple=True, metavar="PROFILE", help="Only this profile. Repeatable.")
@click.option("--select", multiple=True, metavar="GLOB", help="Only the cases whose id matches. Repeatable.")
@click.option("--operation", "operations", multiple=True, metavar="OPERATION", help="Only this operation. Repeatable.")
@click.option("--convention", "conventions", multiple=True, metavar="K=V", help="What it follows. Repeatable.")
@click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files.")
def export_cases(
    folder: Path,
    *,
    tensors: str,
    dtypes: tuple[str, ...],
    profiles: tuple[str, ...],
    select: tuple[str, ...],
    operations: tuple[str, ...],
    conventions: tuple[str, ...],
    golden: Path | None,
) -> int:
    """Write cases into DIR, for a test in any language, or a device with neither Python nor a pipe.

    A test holds one rule, which DIR/export.json states. `attnspec grade DIR` grades the answers, and says more.
    """
    from attnspec.cases import load_selected
    from attnspec.offline import MANIFEST, export
    from attnspec.offline.manifest import TENSOR_FORMATS
    from attnspec.reports.wording import counted
    from attnspec.targets.target import pairs
    from attnspec.validation import check_request

    if tensors not in TENSOR_FORMATS:
        raise UsageError(f"--format {tensors}: the formats are {', '.join(TENSOR_FORMATS)}.")
    declared = pairs(conventions, "--convention")
    check_request(dtypes, declared)
    suite = _of_operations(load_selected(golden, profiles=profiles, select=select), operations)
    done = export(suite, folder, tensors, dtypes=dtypes, conventions=declared)
    written, left_out = done.manifest.cases, done.manifest.left_out
    click.echo(f"{counted(len(written), 'file')} written to {folder}, {_size(done.size)}; {MANIFEST} lists them.")
    if left_out:
        click.echo(f"{len(left_out)} left out, with the reasons there.")
    click.echo(f"Write the answer to a case beside it, as NAME.out.{tensors}; then: attnspec grade {folder}")
    return 0


def _of_operations(suite: Suite, operations: tuple[str, ...]) -> Suite:
    from attnspec.validation import check_operation

    for operation in operations:
        check_operation(operation)
    if not operations:
        return suite
    kept: dict[str, Any] = {case.id: case for case in suite.cases.values() if case.operation in operations}
    if not kept:
        raise UsageError(f"No case that is selected is one of {', '.join(operations)}.")
    return replace(suite, cases=kept)


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"

"""``attnspec export DIR`` and ``grade DIR``: cases as files with expected values and tolerances, and their answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.base.errors import UsageError
from attnspec.command_line.command_options import with_options_of
from attnspec.command_line.terminal import make_console, printing_verdict

if TYPE_CHECKING:
    from attnspec.cases import Suite
    from attnspec.offline import Manifest


@click.command("export")
@with_options_of("export")
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
    from attnspec.cases.selecting import of_operations
    from attnspec.offline import MANIFEST, export
    from attnspec.offline.manifest import TENSOR_FORMATS
    from attnspec.reports.wording import counted
    from attnspec.targets.target import pairs
    from attnspec.validation import check_dtypes_and_conventions, check_operation

    if tensors not in TENSOR_FORMATS:
        raise UsageError(f"--format {tensors}: the formats are {', '.join(TENSOR_FORMATS)}.")
    declared = pairs(conventions, "--convention")
    check_dtypes_and_conventions(dtypes, declared)
    for operation in operations:
        check_operation(operation)
    suite = of_operations(load_selected(golden, profiles=profiles, select=select), operations)
    done = export(suite, folder, tensors, dtypes=dtypes, conventions=declared)
    written, left_out = done.manifest.cases, done.manifest.left_out
    size = f"{done.size / 1e6:.1f} MB" if done.size >= 1e5 else f"{done.size / 1e3:.1f} kB"
    click.echo(f"{counted(len(written), 'file')} written to {folder}, {size}; {MANIFEST} lists them.")
    if left_out:
        click.echo(f"{len(left_out)} left out, with the reasons there.")
    click.echo(f"Write the answer to a case beside it, as NAME.out.{tensors}; then: attnspec grade {folder}")
    return 0


@click.command("grade")
@with_options_of("grade")
def grade_answers(
    folder: Path,
    *,
    answers: Path | None,
    name: str | None,
    dtypes: tuple[str, ...],
    select: tuple[str, ...],
    reports: tuple[str, ...],
    golden: Path | None,
    verbose: bool,
    quiet: bool,
) -> int:
    """Grade the answers to the cases in DIR, which `attnspec export` wrote, as `attnspec validate` would.

    The answer to DIR/CASE.DTYPE.npz is DIR/CASE.DTYPE.out.npz, or .out.safetensors, or .out.json. It holds outputs by
    name. A case without an answer is unsupported.
    """
    from attnspec.offline import declaration_of_answers, graded_answers, read_manifest
    from attnspec.reports.formats import check_writable, print_report, write_report
    from attnspec.reports.report import Invocation
    from attnspec.validation import check_dtypes_and_conventions, make_report

    for path in reports:
        check_writable(Path(path))
    check_dtypes_and_conventions(dtypes, {})
    if answers is not None and not answers.is_dir():
        raise UsageError(f"--answers {answers}: there is no such folder.")
    whole = read_manifest(folder)
    suite = _exported(whole, golden, select)
    manifest = _of_dtypes(whole, dtypes)
    answered_in = answers or folder
    declaration = declaration_of_answers(manifest, answered_in, name=name or folder.resolve().name, adapter=str(folder))
    results = graded_answers(suite, manifest, declaration, answered_in)
    invocation = Invocation(golden=golden and str(golden), export=True, answers=answers and str(answers))
    report = make_report(suite, declaration, results, conventions={}, invocation=invocation)
    try:
        for path in reports:
            write_report(report, Path(path), suite)
    finally:
        with printing_verdict():
            print_report(report, make_console(), quiet=quiet, verbose=verbose)
    return 0 if report.conforms else 1


def _exported(manifest: Manifest, golden: Path | None, select: tuple[str, ...]) -> Suite:
    """Return the selected exported cases; `UsageError` if they come from another suite than this one."""
    from attnspec.cases import is_random, load_selected
    from attnspec.cases.selecting import select_ids

    exported = [entry.case for entry in (*manifest.cases, *manifest.left_out)]
    drawn = tuple(dict.fromkeys(case for case in exported if is_random(case)))
    suite = load_selected(golden, select=("*", *drawn) if drawn else ())
    if suite.digest != manifest.suite_digest:
        raise UsageError(
            f"The cases were exported from another suite (version {manifest.suite_version}, digest "
            f"{manifest.suite_digest[:12]}) than the one that would grade them (digest {suite.digest[:12]}). "
            "Export them anew."
        )
    ids = {*exported} & suite.cases.keys()
    return replace(suite, cases={case_id: suite.cases[case_id] for case_id in select_ids(ids, select=select)})


def _of_dtypes(manifest: Manifest, dtypes: tuple[str, ...]) -> Manifest:
    """Return the part of a manifest in some dtypes, all if none is named; `UsageError` if none was exported."""
    if not dtypes:
        return manifest
    cases, left_out = (
        tuple(entry for entry in entries if entry.dtype in dtypes) for entries in (manifest.cases, manifest.left_out)
    )
    if not cases:
        known = ", ".join(dict.fromkeys(entry.dtype for entry in manifest.cases))
        raise UsageError(f"No case was exported in {' or '.join(dtypes)}; there are cases in {known}.")
    return replace(manifest, cases=cases, left_out=left_out)

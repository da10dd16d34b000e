"""``attnspec grade DIR``: grade the answers to exported cases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnspec.base.errors import UsageError
from attnspec.command_line.terminal import make_console, telling

if TYPE_CHECKING:
    from attnspec.cases import Suite
    from attnspec.offline import Manifest


@click.command("grade")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--answers",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Where the answers lie, in the same folders, if not beside the cases.",
)
@click.option("--name", metavar="NAME", help="What reports call it; the name of DIR if not said.")
@click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE", help="Only this dtype. Repeatable.")
@click.option("--select", multiple=True, metavar="GLOB", help="Only the cases whose id matches. Repeatable.")
@click.option("--report", "reports", multiple=True, metavar="FILE", help="FILE.json, .xml, .md, .html, badge.json.")
@click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files.")
@click.option("--verbose", "-v", is_flag=True, help="Print all that is known of what went wrong, and more cases.")
@click.option("--quiet", is_flag=True, help="Print one closing line only.")
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
    from attnspec.offline import answered, graded_answers, read_manifest
    from attnspec.reports.formats import check_writable, print_report, write_report
    from attnspec.reports.report import Invocation
    from attnspec.validation import check_request, make_report

    for path in reports:
        check_writable(Path(path))
    check_request(dtypes, {})
    if answers is not None and not answers.is_dir():
        raise UsageError(f"--answers {answers}: there is no such folder.")
    whole = read_manifest(folder)
    suite = _exported(whole, golden, select)
    manifest = _of_dtypes(whole, dtypes)
    place = answers or folder
    declaration = answered(manifest, place, name=name or folder.resolve().name, adapter=str(folder))
    report = make_report(
        suite,
        declaration,
        graded_answers(suite, manifest, declaration, place),
        conventions={},
        invocation=Invocation(
            golden=None if golden is None else str(golden),
            export=True,
            answers=None if answers is None else str(answers),
        ),
    )
    try:
        for path in reports:
            write_report(report, Path(path), suite)
    finally:
        with telling():
            print_report(report, make_console(), quiet=quiet, verbose=verbose)
    return 0 if report.conforms else 1


def _exported(manifest: Manifest, golden: Path | None, select: tuple[str, ...]) -> Suite:
    """Return the selected exported cases; `UsageError` if they come from another suite than this one."""
    from attnspec.cases import is_random, load_selected, select_ids

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

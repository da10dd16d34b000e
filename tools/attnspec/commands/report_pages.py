"""``attnspec report``: several reports side by side, and the changes between two."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from attnspec.base.errors import ReportError, UsageError
from attnspec.command_line.command_options import with_options_of
from attnspec.command_line.terminal import make_console, write_file

_RUNS_SHOWN = 10


@click.command()
@with_options_of("report")
def report(
    files: tuple[Path, ...],
    html: Path | None,
    detailed: tuple[str, ...],
    compare: tuple[Path, Path] | None,
    golden: Path | None,
) -> int:
    """Put report.json FILES side by side, with accuracy ranking, or --compare two.

    Ends with 1 when a file could not be read while others could, or when --compare finds something worse.
    """
    if compare is not None:
        if files or html is not None or detailed:
            raise UsageError("--compare OLD NEW stands alone: leave out further files, --html and --detail.")
        return _print_changes(*compare)
    if not files:
        raise UsageError("Say which reports: attnspec report A.json B.json --html FILE, or --compare OLD NEW.")
    if detailed and html is None:
        raise UsageError("--detail says what the page draws: name the page with --html FILE.")
    documents, paths, unread = _read(files)
    names = _names(documents, paths)
    _print_ranking(documents, names)
    if html is not None:
        from attnspec.cases import load_suite
        from attnspec.reports.html import html_page

        page = html_page(documents, names, load_suite(golden, whole=True), detailed=detailed, notes=unread)
        write_file(html, page, "The page could not be written to {}")
    return 1 if unread else 0


def _read(files: Sequence[Path]) -> tuple[list[dict[str, Any]], list[Path], list[str]]:
    """Return the sound documents, their paths, and a sentence for each unsound file; `ReportError` if none is sound."""
    from attnspec.reports.written_reports import read_report

    documents: list[dict[str, Any]] = []
    paths: list[Path] = []
    unread: list[str] = []
    for path in files:
        try:
            documents.append(read_report(path))
            paths.append(path)
        except ReportError as error:
            unread.append(str(error))
    if not documents:
        raise ReportError(" ".join(unread))
    for sentence in unread:
        click.echo(f"attnspec: {sentence}", err=True)
    return documents, paths, [f"Left out: {sentence}" for sentence in unread]


def _names(documents: Sequence[Mapping[str, Any]], paths: Sequence[Path]) -> list[str]:
    """Return the name of each implementation: name and version, and the file where these are not enough."""
    called = [document["implementation"] for document in documents]
    names = [" ".join(filter(None, (each["name"], each["version"]))) for each in called]
    return [
        each if names.count(each) == 1 else f"{each} ({path.name})" for each, path in zip(names, paths, strict=True)
    ]


def _print_ranking(documents: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """Print a row for each implementation, the most accurate first."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from attnspec.grading import WRONG
    from attnspec.reports.html.page import harmless
    from attnspec.reports.written_reports import rank_reports

    ranked = {entry.position: entry for entry in rank_reports(documents, names)}
    order = [*ranked, *(position for position in range(len(documents)) if position not in ranked)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("implementation")
    table.add_column("verdict")
    for title in ("passed", "wrong", "not offered", "median", "worst"):
        table.add_column(title, justify="right")
    for position in order:
        counts = documents[position]["summary"]["statuses"]
        wrong = sum(counts.get(status, 0) for status in WRONG)
        entry = ranked.get(position)
        table.add_row(
            Text(harmless(names[position], 80)),
            Text(documents[position]["summary"]["conformance"], style="red" if wrong else "green"),
            str(counts.get("pass", 0)),
            str(wrong),
            str(counts.get("unsupported", 0)),
            "" if entry is None else f"{entry.median:.2g}",
            "" if entry is None else f"{entry.worst:.2g}",
        )
    runs = next((entry.runs for entry in ranked.values()), 0)
    shared = "it was" if len(documents) == 1 else "all were"
    table.caption = f"median, worst: error / tolerance over the {runs} runs in which {shared} compared; above 1 fails"
    table.caption_justify = "left"
    make_console().print(table)


def _print_changes(old: Path, new: Path) -> int:
    """Print changes, a paragraph a kind, the worse kinds first; return the exit status."""
    from attnspec.reports.written_reports import compare_reports, read_report

    changes = compare_reports(read_report(old), read_report(new))
    lines: list[str] = []
    if not changes.same_suite:
        lines.append("The two reports were made with different suites.")
    for said, runs in (
        ("newly wrong", changes.failing),
        ("new to the suite, and wrong", changes.new_failing),
        ("not offered any more", changes.lost),
        ("vanished from the report", changes.vanished),
        ("fixed", changes.fixed),
        ("newly offered", changes.gained),
        ("new to the suite, and not wrong", tuple(run for run in changes.new if run not in set(changes.new_failing))),
    ):
        by_case: dict[str, list[str]] = {}
        for case_id, dtype in runs:
            by_case.setdefault(case_id, []).append(dtype)
        entries = [f"  {case_id} ({', '.join(dtypes)})" for case_id, dtypes in by_case.items()]
        lines += [f"{said}: {len(runs)}", *entries[:_RUNS_SHOWN]] if runs else []
        if len(by_case) > _RUNS_SHOWN:
            lines.append(f"  … and {len(by_case) - _RUNS_SHOWN} more cases")
    if not lines or lines == ["The two reports were made with different suites."]:
        lines.append("No status changed.")
    if changes.accuracy is not None:
        before, after = changes.accuracy
        lines.append(
            f"error / tolerance over {before.runs} runs: median {before.median:.2g}, now {after.median:.2g}; "
            f"worst {before.worst:.2g}, now {after.worst:.2g}"
        )
    click.echo("\n".join(lines))
    return 1 if changes.is_worse else 0

"""``attnspec report``: several reports side by side, and the changes between two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnspec.base.errors import ReportError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from attnspec.reports.written_reports import Changes, Runs

_RUNS_SHOWN = 10


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path), help="Write one page about all of them.")
@click.option("--detail", "detailed", multiple=True, metavar="CASE", help="Draw this case too. Repeatable, up to 20.")
@click.option("--compare", nargs=2, metavar="OLD NEW", type=click.Path(path_type=Path), help="Say what changed.")
@click.option("--golden", metavar="FOLDER", type=click.Path(path_type=Path), help="Another folder of golden files.")
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
        _write(html, page)
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
    names = [
        " ".join(filter(None, (document["implementation"]["name"], document["implementation"]["version"])))
        for document in documents
    ]
    return [
        name if names.count(name) == 1 else f"{name} ({path.name})" for name, path in zip(names, paths, strict=True)
    ]


def _print_ranking(documents: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """Print a row for each implementation, the most accurate first."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from attnspec.grading import WRONG
    from attnspec.reports.written_reports import rank

    ranked = {entry.position: entry for entry in rank(documents, names)}
    order = [*ranked, *(place for place in range(len(documents)) if place not in ranked)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("implementation")
    table.add_column("verdict")
    for title in ("passed", "wrong", "not offered", "median", "worst"):
        table.add_column(title, justify="right")
    for place in order:
        counts = documents[place]["summary"]["statuses"]
        wrong = sum(counts.get(status, 0) for status in WRONG)
        entry = ranked.get(place)
        table.add_row(
            Text(_plain(names[place])),
            Text(documents[place]["summary"]["conformance"], style="red" if wrong else "green"),
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
    _console().print(table)


def _print_changes(old: Path, new: Path) -> int:
    from attnspec.reports.written_reports import compare, read_report

    changes = compare(read_report(old), read_report(new))
    for line in _lines(changes):
        click.echo(line)
    return 1 if changes.is_worse else 0


def _lines(changes: Changes) -> list[str]:
    """Return changes, a paragraph a kind; the kinds that are worse come first."""
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
        lines.extend(_runs(said, runs))
    if not lines or lines == ["The two reports were made with different suites."]:
        lines.append("No status changed.")
    if changes.accuracy is not None:
        before, after = changes.accuracy
        lines.append(
            f"error / tolerance over {before.runs} runs: median {before.median:.2g}, now {after.median:.2g}; "
            f"worst {before.worst:.2g}, now {after.worst:.2g}"
        )
    return lines


def _runs(said: str, runs: Runs) -> list[str]:
    if not runs:
        return []
    by_case: dict[str, list[str]] = {}
    for case_id, dtype in runs:
        by_case.setdefault(case_id, []).append(dtype)
    lines = [f"{said}: {len(runs)}"]
    lines.extend(f"  {case_id} ({', '.join(dtypes)})" for case_id, dtypes in list(by_case.items())[:_RUNS_SHOWN])
    if len(by_case) > _RUNS_SHOWN:
        lines.append(f"  … and {len(by_case) - _RUNS_SHOWN} more cases")
    return lines


def _plain(text: str) -> str:
    from attnspec.reports.html.page import harmless

    return harmless(text, 80)


def _console() -> Console:
    from attnspec.commands.validate import make_console

    return make_console()


def _write(path: Path, page: str) -> None:
    from attnspec.base.replacing import replace_file

    try:
        replace_file(path, page)
    except OSError as error:
        raise UsageError(f"The page could not be written to {path}: {error.strerror}.") from None

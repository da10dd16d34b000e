"""Pages of the table of implementations: ``spec/results/README.md``, a badge of each, reports that are ready to send.

``python -m attnspec_authoring.results`` writes them anew from the results and the ledger of defects.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from attnspec_authoring.results.defects import read_defects
from attnspec_authoring.results.implementations import read_implementations
from attnspec_authoring.results.stored import RESULTS, read_results

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from attnspec_authoring.results.defects import Defect
    from attnspec_authoring.results.implementations import Implementation
    from attnspec_authoring.results.stored import Result

DTYPES = ("float64", "float32", "float16", "bfloat16")

_HEAD = """# The table of implementations

What each version of a library came to in a run of this suite. What a library does not offer is not counted, and it
declares [conventions](../conventions.md#conventions) of its own. Programs write this page and the files beside it:

```console
$ python -m attnspec_authoring.third_party jax --version 0.10.2 --write
$ python -m attnspec_authoring.results
```

The first one runs a library, in an environment that it makes and removes, and writes all; the second one writes the
pages alone, from results and ledger.

| file | what |
|---|---|
| `NAME/VERSION.json` | counts, error / tolerance, each failure, by this [schema](../schemas/results.schema.json) |
| [`defects.json`](defects.json) | known defects with programs, by this [schema](../schemas/defects.schema.json) |
| `reports/` | of defects for which no public report was found: a text that is ready to be sent |
| `badges/` | a badge of the newest version of each, as shields.io takes it |
| [`implementations.toml`](implementations.toml) | a new library is an adapter and an entry here |

## Results

Passed; `~` failed by a known defect; `!` failed otherwise. *Worst* is the largest error / tolerance of a pass.
"""

_WITNESSES = """## Witnesses

The random case that a short search found to come nearest to the tolerance, and that passes. It runs again by
`attnspec validate NAME --select CASE`; a program by `--command` in place of NAME, or, where it reads files, by
`attnspec export --select CASE` and `attnspec grade`.
"""

_DEFECTS = """## Known defects

How many results each explains, in the newest version that shows it.
"""


def pages(
    results: Sequence[Result], defects: Sequence[Defect], implementations: Mapping[str, Implementation]
) -> dict[str, str]:
    """Return the text of every page and badge, by its path below ``spec/results/``."""
    newest = {name: next(own) for name, own in groupby(results, key=lambda result: result.name)}
    return {
        "README.md": "\n".join(_index(results, newest, defects, implementations)) + "\n",
        **{f"badges/{name}.json": _badge(result, implementations[name]) for name, result in newest.items()},
        **{
            f"reports/{defect.report}": "\n".join(_report(defect, results, implementations)) + "\n"
            for defect in defects
            if defect.report is not None
        },
    }


def write_pages(folder: Path = RESULTS) -> None:
    """Write the pages of what is committed, and remove those of what is gone."""
    texts = pages(read_results(folder), read_defects(folder / "defects.json"), read_implementations())
    for old in (*folder.glob("badges/*"), *folder.glob("reports/*")):
        if str(old.relative_to(folder)) not in texts:
            old.unlink()
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _index(
    results: Sequence[Result],
    newest: Mapping[str, Result],
    defects: Sequence[Defect],
    implementations: Mapping[str, Implementation],
) -> Iterator[str]:
    languages = {implementations[name].language for name in newest}
    yield _HEAD
    yield f"{len(newest)} implementations in {len(languages)} languages, {len(results)} versions:"
    yield ""
    yield f"| implementation | version | {' | '.join(DTYPES)} | worst | run |"
    yield f"|{'---|' * (len(DTYPES) + 4)}"
    for result in results:
        yield _row(result, implementations[result.name])
    yield ""
    yield from _versions(results)
    yield _WITNESSES
    yield "| implementation | dtype | error / tolerance | case |"
    yield "|---|---|---|---|"
    for result in results:
        for witness in result.witnesses:
            yield f"| {result.name} {result.release} | {witness.dtype} | {witness.ratio:.3g} | `{witness.text}` |"
    yield ""
    yield _DEFECTS
    yield "| defect | results | report |"
    yield "|---|---|---|"
    for defect in defects:
        link = f"[ready to send](reports/{defect.report})" if defect.link is None else f"[public]({defect.link})"
        yield f"| `{defect.id}`: {defect.title} | {_shown(defect, results) or 'none'} | {link} |"


def _row(result: Result, implementation: Implementation) -> str:
    cells = [_cell(result, dtype) for dtype in DTYPES]
    ratios = [each.worst.ratio for each in result.distributions if each.worst is not None]
    title = f"`{result.name}`: {implementation.library}, {implementation.runs}"
    version = f"[{result.release}]({result.name}/{result.release}.json)"
    part = "" if result.is_whole else f", {_part(result)}"
    worst = f"{max(ratios):.2f}" if ratios else "."
    return f"| {' | '.join((title, version, *cells, worst, result.date + part))} |"


def _part(result: Result) -> str:
    """Say which part of the suite was run."""
    return f"ended early, {result.not_run:,} not run" if result.not_run else f"{', '.join(result.profiles)} only"


def _cell(result: Result, dtype: str) -> str:
    counts = [count for count in result.counts if count.dtype == dtype]
    passed, known, failed = (sum(getattr(count, name) for count in counts) for name in ("passed", "known", "failed"))
    if not passed + known + failed:
        return "."
    return " ".join([f"{passed:,}", *([f"~{known}"] if known else []), *([f"!{failed}"] if failed else [])])


def _versions(results: Sequence[Result]) -> Iterator[str]:
    """Give the section of what differs between versions of one implementation."""
    yield "## Between versions"
    yield ""
    for later, earlier in pairwise(results):
        if later.name != earlier.name:
            continue
        shared = {*later.profiles} & {*earlier.profiles}
        before, after = _going_wrong(earlier, shared), _going_wrong(later, shared)
        more = f"; {later.passed - earlier.passed:+,} passed" if later.is_whole and earlier.is_whole else ""
        yield (
            f"- `{later.name}` {earlier.release} to {later.release}: {len(before - after)} results no longer go wrong"
            f"{_such_as(before - after)}, {len(after - before)} newly do{_such_as(after - before)}{more}."
        )
    yield ""


def _going_wrong(result: Result, profiles: set[str]) -> set[tuple[str, str]]:
    """Return case and dtype of what goes wrong in some profiles: no version is blamed for those it was not run on."""
    return {(failure.case, failure.dtype) for failure in result.failures if failure.case.partition("/")[0] in profiles}


def _such_as(results: set[tuple[str, str]]) -> str:
    if not results:
        return ""
    case, dtype = min(results)
    return f" (such as `{case}` in {dtype})"


def _shown(defect: Defect, results: Sequence[Result]) -> str:
    """Say how many results a defect explains, in the newest version of each implementation that shows it."""
    found: dict[str, str] = {}
    for result in results:
        count = sum(failure.defect == defect.id for failure in result.failures)
        if count and result.name not in found:
            found[result.name] = f"{count} of {result.name} {result.release}"
    return ", ".join(found.values())


def _badge(result: Result, implementation: Implementation) -> str:
    said = [f"{result.passed:,} passed"]
    said += [f"{result.known:,} by known defects"] if result.known else []
    said += [f"{result.failed:,} failed"] if result.failed else []
    colour = "red" if result.failed else "yellowgreen" if result.known else "brightgreen"
    label = f"attnspec: {implementation.library} {result.release}"
    badge = {"schemaVersion": 1, "label": label, "message": ", ".join(said), "color": colour}
    return json.dumps(badge, ensure_ascii=False) + "\n"


def _report(defect: Defect, results: Sequence[Result], implementations: Mapping[str, Implementation]) -> Iterator[str]:
    """Give the lines of a report, in the order in which maintainers ask for them."""
    seen = [result for result in results if any(failure.defect == defect.id for failure in result.failures)]
    libraries = Counter(implementations[name].library for name in defect.implementations)
    yield f"# {defect.title}"
    yield ""
    yield defect.sentence
    yield ""
    yield "To reproduce:"
    yield ""
    yield "```python"
    yield defect.reproduction
    yield "```"
    yield ""
    yield "It prints:"
    yield ""
    yield "```text"
    yield defect.measured
    yield "```"
    yield ""
    yield f"Expected: {defect.expected}"
    yield ""
    where = sorted({f"{implementations[result.name].library} {result.version}" for result in seen})
    platforms = sorted({f"Python {result.environment['python']}, {result.environment['platform']}" for result in seen})
    yield f"Seen in: {', '.join(where) or ', '.join(libraries)}; {', '.join(platforms) or 'on a CPU'}."

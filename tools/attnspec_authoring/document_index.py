"""Index of the source documents: from each of their steps to cases, pages, printed numbers and errata.

``python -m attnspec_authoring.document_index`` writes ``spec/documents.md`` from the golden cases and the errata.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attnspec.base.files import GOLDEN_FOLDER
from attnspec.contract import OPERATIONS
from attnspec_authoring.recipes import authored_cases

PAGE = Path(__file__).parents[2] / "spec" / "documents.md"
_ERRATA = PAGE.with_name("errata.md")
_HEAD = """# The source documents

Five documents that teach attention stand behind this suite. Each has a section here, with its own names of steps and
cells. A row leads to the cases that hold a step's numbers, to the page that says what is right, to numbers that the
document printed, and to what is wrong in it. The documents themselves are not part of the suite.

*Printed* says of which tensor a number is, and whether it agrees with the certified one. A program writes this page:
`python -m attnspec_authoring.document_index`.
"""
_TITLE = re.compile(r"^### `(E\d+\.\w+)` — (.+)$", re.MULTILINE)
_ROW = re.compile(r"^\| `(E\d+\.\w+)` \|", re.MULTILINE)


def index_page() -> str:
    """Return the text of the page."""
    cases = [_document(case.id) for case in authored_cases() if case.source.document]
    anchors = erratum_links()
    parts = [_HEAD]
    for document in sorted({case["source"]["document"] for case in cases}):
        own = [case for case in cases if case["source"]["document"] == document]
        parts.append("\n".join(_section(document, own, anchors)))
    return "\n".join(parts)


def erratum_links() -> Mapping[str, str]:
    """Return each erratum's id with where it stands on the page of errata; small ones stand in tables."""
    text = _ERRATA.read_text("utf-8")
    links = dict.fromkeys(_ROW.findall(text), "errata.md")
    for erratum, title in _TITLE.findall(text):
        anchor = re.sub(r"[^\w\- ]", "", f"`{erratum}` — {title}".lower()).replace(" ", "-")
        links[erratum] = f"errata.md#{anchor}"
    return links


def _document(case_id: str) -> dict[str, Any]:
    return json.loads((GOLDEN_FOLDER / f"{case_id}.json").read_text("utf-8"))


def _section(document: str, cases: Sequence[Mapping[str, Any]], anchors: Mapping[str, str]) -> Iterator[str]:
    steps: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for case in cases:
        steps.setdefault((_position(case), case["source"].get("section", "")), []).append(case)
    yield f"## {document}\n"
    yield "| step | cases | page | printed | errata |"
    yield "|---|---|---|---|---|"
    named: set[str] = set()
    for (_, step), of_step in sorted(steps.items()):
        errata = dict.fromkeys(erratum for case in of_step for erratum in _errata_of(case))
        named |= {*errata}
        operations = dict.fromkeys(case["operation"] for case in of_step)
        cells = (
            step.replace("|", "\\|"),
            ", ".join(f"[{case['id'].removeprefix('documents/')}](../golden/{case['id']}.json)" for case in of_step),
            ", ".join(f"[{name}](operations/{OPERATIONS[name].family}/{name}.md)" for name in operations),
            "; ".join(dict.fromkeys(line for case in of_step for line in _printed(case))),
            ", ".join(_link(erratum, anchors) for erratum in errata),
        )
        yield f"| {' | '.join(cells)} |"
    number = document.partition("_")[0]
    others = [erratum for erratum in anchors if erratum.startswith(f"E{number}.") and erratum not in named]
    if others:
        yield f"\nErrata of which no case holds a number: {', '.join(_link(name, anchors) for name in others)}.\n"


def _errata_of(case: Mapping[str, Any]) -> Iterator[str]:
    yield from case.get("errata", ())
    yield from (entry["erratum"] for entry in case.get("printed", ()) if entry.get("erratum"))


def _position(case: Mapping[str, Any]) -> str:
    """Return what steps are sorted by: the first number of a step or cell, so that they follow the document."""
    text = case["source"].get("section", "")
    found = re.search(r"(?:Steps?|Question|In \[)\s*(\d+)", text)
    return f"{int(found[1]):03}" if found else "000" + text[:12]


def _printed(case: Mapping[str, Any]) -> Iterator[str]:
    for entry in case.get("printed", ()):
        what = f"shape of `{entry['of']}`" if entry.get("quantity") == "shape" else f"`{entry['of']}`"
        verdict = "agrees" if entry["agrees"] else "differs"
        yield f"{entry['section']}: {what} {verdict}"


def _link(erratum: str, anchors: Mapping[str, str]) -> str:
    return f"[{erratum.partition('.')[2]}]({anchors[erratum]})"


if __name__ == "__main__":
    PAGE.write_text(index_page(), "utf-8")

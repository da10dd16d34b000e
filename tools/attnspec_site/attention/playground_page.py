"""Playground: a page that grades a small attention in JavaScript, with its cases and examples as data of a script."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from attnspec.cases import Case
from attnspec.contract import OPERATIONS
from attnspec_mistakes import CATALOGUE
from attnspec_site import addresses
from attnspec_site.attention.playground_cases import OPERATION, OPTIONS, OUTPUT, playground_data
from attnspec_site.page import Page, PageMaker
from attnspec_site.search_index import Entry, data_script

SCRIPT = "assets/playground-data.js"

_HERE = Path(__file__).parent
_EXAMPLES = _HERE / "examples"
_SCRIPTS = ("playground_worker", "playground_grading", "playground")
_LAST = "assets/playground.js"
_TITLE = "Playground"


class Example(NamedTuple):
    """A function to pick: its id, a title for the list, its text, and whether it is right."""

    id: str
    title: str
    source: str
    is_right: bool


@cache
def examples() -> tuple[Example, ...]:
    """Return the functions to pick from: right ones, then the plain one with one mistake of the catalogue each.

    Raises
    ------
    ValueError
        What a mistake replaces does not stand once in the plain function.
    """
    plain = (_EXAMPLES / "attention.js").read_text(encoding="utf-8")
    sentences = {mistake.id: mistake.sentence for mistake in CATALOGUE}
    others = ((path.stem, path.read_text(encoding="utf-8")) for path in sorted((_EXAMPLES / "right").glob("*.js")))
    return (
        *(Example(name, _comment(text), text, is_right=True) for name, text in (("plain", plain), *others)),
        *(
            Example(name, sentences[name], _patched(plain, name, patch), is_right=False)
            for name, patch in _patches().items()
        ),
    )


class Playground(NamedTuple):
    """The page, and the scripts that it loads, each an address and a text."""

    page: Page
    scripts: Mapping[str, str]


def playground(cases: Iterable[Case], maker: PageMaker, drawing: str) -> Playground:
    """Return the playground of the cases of a suite; its script draws heat maps by the code `drawing`."""
    data = playground_data(cases)
    scripts = {f"assets/{name}.js": (_HERE / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS}
    scripts[_LAST] = drawing + scripts[_LAST]
    return Playground(_page(maker, len(data["cases"])), {SCRIPT: _data_script(data), **scripts})


def _page(maker: PageMaker, count: int) -> Page:
    """Return the page, which holds the plain function for a reader without scripts."""
    right = [example for example in examples() if example.is_right]
    wrong = [example for example in examples() if not example.is_right]
    return maker.page(
        "playground.html",
        addresses.PLAYGROUND,
        _TITLE,
        operation=OPERATION,
        plain=right[0].source,
        right=right,
        wrong=wrong,
        count=count,
        scripts=[SCRIPT, *(f"assets/{name}.js" for name in _SCRIPTS)],
    )


def _data_script(cases_and_mistakes: Mapping[str, Any]) -> str:
    data = {
        **cases_and_mistakes,
        "examples": {example.id: example.source for example in examples() if example.is_right},
        "patches": _patches(),
        "optionNames": OPTIONS,
        "defaults": OPERATIONS[OPERATION].attributes,
        "axes": OPERATIONS[OPERATION].outputs_by_name[OUTPUT].axes,
    }
    return data_script("playground", data)


def playground_entry() -> Entry:
    """Return what the search finds of the page."""
    return Entry("page", _TITLE, addresses.PLAYGROUND, "Grade a small attention in JavaScript in the browser, offline.")


def _patches() -> Mapping[str, Mapping[str, str]]:
    """Return each mistake to what it replaces in the plain function."""
    return json.loads((_EXAMPLES / "mistakes.json").read_bytes())


def _patched(plain: str, name: str, patch: Mapping[str, str]) -> str:
    for old, new in patch.items():
        if plain.count(old) != 1:
            raise ValueError(
                f"{name}: {old!r} must stand in attention.js once; it stands there {plain.count(old)} times."
            )
        plain = plain.replace(old, new)
    return plain


def _comment(source: str) -> str:
    """Return the comment that an example begins with."""
    return source.partition("\n")[0].removeprefix("// ")

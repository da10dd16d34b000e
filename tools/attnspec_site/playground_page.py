"""Playground: a page that grades a small attention in JavaScript, with its cases and examples as data of a script."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from attnspec.contract import OPERATIONS
from attnspec_mistakes import CATALOGUE
from attnspec_site import addresses
from attnspec_site.page import Page, PageMaker
from attnspec_site.playground_cases import OPERATION, OPTIONS, OUTPUT
from attnspec_site.search_index import Entry, data_script

SCRIPT = "assets/playground-data.js"

_EXAMPLES = Path(__file__).with_name("examples")
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


def playground_page(maker: PageMaker, count: int) -> Page:
    """Return the page for so many cases; it holds the plain function for a reader without scripts."""
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
    )


def playground_script(cases_and_mistakes: Mapping[str, Any]) -> str:
    """Return the data of the page as a script: what `playground_data` gives, and the examples."""
    data = {
        **cases_and_mistakes,
        "examples": {example.id: example.source for example in examples() if example.is_right},
        "patches": _patches(),
        "optionNames": OPTIONS,
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

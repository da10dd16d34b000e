"""Options of the plugin, as ``options.json`` lists them: those of ``attnspec validate``, behind ``--attnspec-``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pytest

PREFIX = "--attnspec"


class Option(NamedTuple):
    """Option ``--attnspec-NAME``: `for_python` targets alone, or left out for one case, since it is `of_many`."""

    name: str
    metavar: str
    sentence: str
    repeatable: bool = False
    for_python: bool = False
    of_many: bool = False
    number: bool = False


_TABLE = Path(__file__).with_name("options.json")
OPTIONS = tuple(Option(name, **facts) for name, facts in json.loads(_TABLE.read_bytes()).items())

_OF_THE_COMMAND = re.compile(rf"(?<![\w-])--({'|'.join(option.name for option in OPTIONS)})\b")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options to those of pytest, named after those of ``attnspec validate``."""
    group = parser.getgroup("attnspec", "conformance of attention")
    group.addoption(
        PREFIX,
        metavar="TARGET",
        help="Validate TARGET: reference, torch, package.module, ./mine.py, ./mine.py:MyAdapter. "
        "On a command line without paths of tests, nothing else is run.",
    )
    for option in OPTIONS:
        how: dict[str, Any] = {"action": "append", "default": []} if option.repeatable else {}
        name = f"{PREFIX}-{option.name}"
        group.addoption(name, metavar=option.metavar, help=option.sentence, type=float if option.number else str, **how)


def for_python_given(options: Any) -> list[str]:
    """Return the options that were given and are for Python targets alone."""
    names = [f"{PREFIX}-{option.name}" for option in OPTIONS if option.for_python]
    return [name for name in (PREFIX, *names) if getattr(options, name.strip("-").replace("-", "_"))]


def in_the_words_of_pytest(text: str) -> str:
    """Return a message of attnspec with the options called as they are called here."""
    return _OF_THE_COMMAND.sub(rf"{PREFIX}-\1", text)


def for_one_case(arguments: Sequence[object]) -> list[str]:
    """Return the arguments of a command line for the target, without those about many cases."""
    of_many = {f"{PREFIX}-{option.name}" for option in OPTIONS if option.of_many}
    kept: list[str] = []
    words = iter(map(str, arguments))
    for word in words:
        name, sign, _ = word.partition("=")
        if not name.startswith(PREFIX):
            continue
        whole = [word] if sign else [word, *filter(None, [next(words, None)])]
        if name not in of_many:
            kept += whole
    return kept

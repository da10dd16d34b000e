"""Options of the plugin, a line each; their names are those of ``attnspec validate`` behind ``--attnspec-``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

PREFIX = "--attnspec"


class Option(NamedTuple):
    """Option ``--attnspec-NAME``; `metavar` and `sentence` are its help.

    `for_python`: about a Python target; a program that follows the protocol declares it by itself. `of_many`: about a
    run of many cases, and left out for one case.
    """

    name: str
    metavar: str
    sentence: str
    repeatable: bool = False
    for_python: bool = False
    of_many: bool = False
    kind: type = str


OPTIONS = (
    Option("command", "COMMAND", "A program that speaks the process protocol, instead of TARGET."),
    Option("dtype", "DTYPE", "Run in this dtype. Repeatable.", repeatable=True, of_many=True),
    Option("profile", "PROFILE", "Run this profile. Repeatable.", repeatable=True, of_many=True),
    Option("select", "GLOB", "Run the cases whose id matches. Repeatable.", repeatable=True, of_many=True),
    Option("convention", "K=V", "What TARGET follows. Repeatable.", repeatable=True),
    Option(
        "rename",
        "OWN=ARGUMENT",
        "TARGET's own name for an argument. Repeatable.",
        repeatable=True,
        for_python=True,
    ),
    Option("layout", "LAYOUT", "How its tensors are laid out, as `attnspec validate --help` lists it."),
    Option("as", "OPERATION", "TARGET is one function: this operation.", for_python=True),
    Option("tensors", "LIBRARY", "What TARGET takes and returns: torch, jax, dlpack or numpy.", for_python=True),
    Option("backward", "WAY", "How to come by the gradients of TARGET's functions: autograd.", for_python=True),
    Option("without", "WORDS", "What TARGET does not offer: float_mask,grouped_query. Repeatable.", repeatable=True),
    Option("device", "DEVICE", "Where TARGET is to run, if it takes one, such as cuda.", for_python=True),
    Option("golden", "FOLDER", "Another folder of golden files."),
    Option("baseline", "FILE", "What is expected not to pass, as `attnspec gate` writes it.", of_many=True),
    Option(
        "timeout",
        "SECONDS",
        "For each call; TARGET then runs in a process of its own, so that it may crash or hang.",
        kind=float,
    ),
)

_OF_THE_COMMAND = re.compile(rf"(?<![\w-])--({'|'.join(option.name for option in OPTIONS)})\b")


def add_options(parser: pytest.Parser) -> None:
    """Add the options to those of pytest."""
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
        group.addoption(name, metavar=option.metavar, help=option.sentence, type=option.kind, **how)


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

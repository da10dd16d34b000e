"""Keywords of Python in place of the options of a command line, so that a message speaks the language of its reader."""

from __future__ import annotations

import re

from attnspec.contract import CAPABILITIES, LAYOUTS, OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.tensors import TENSORS

_KEYWORDS = {
    "--as": "operation",
    "--rename": "renames",
    "--without": "without",
    "--layout": "layout",
    "--device": "device",
    "--tensors": "tensors",
    "--backward": "backward",
    "--convention": "conventions",
    "--dtype": "dtypes",
    "--profile": "profile",
    "--select": "select",
}
"""Option to the keyword of `attnspec.validate` that says the same."""

_SWITCHES = {"--no-probes": "probes=False", "--fail-fast": "fail_fast=True"}

_OF_LOAD = {"operation": "bare_operation"}
"""Keyword of `attnspec.validate` to that of `attnspec.load`, whose `renames` have the contract's name first."""

_PLACEHOLDERS = ("OPERATION", "ARGUMENT", "FUNCTION", "NAME", "VALUE")
"""Words that stand in messages for those of the reader; they are not quoted."""

_NAME = r"[\w@.]*\w"
_PAIR = re.compile(rf"({_NAME})=({_NAME})")


def _alternatives(*words: str) -> str:
    return f"(?:{'|'.join(map(re.escape, words))})"


_WORD = _alternatives(*OPERATIONS, *CAPABILITIES, *FLOAT_DTYPES, *TENSORS, "autograd")

_VALUE = "|".join(
    (
        rf"{_NAME}={_NAME}(?:,{_NAME}={_NAME})*",
        _alternatives(*_PLACEHOLDERS),
        rf"{_WORD}(?:,{_WORD})*\b",
        rf"{_alternatives(*LAYOUTS)}(?::[\w=,]*\w)?(?![\w:])",
        # A message that begins with an option ends what was given with a colon.
        r"\S+?(?=:\s)",
    )
)
"""Value of an option, as against the next word of a sentence."""

_DEVICE = re.compile(r"\A--device (?P<name>[^\n]+?)(?=:\s)")
"""Device at the beginning of a message, under a name of any words."""

_OPTION = re.compile(
    rf"(?<![\w-])(?P<option>{_alternatives(*_KEYWORDS, *_SWITCHES)})(?![\w-])"
    rf"(?P<said>[ =](?:{_VALUE})(?: (?P=option)[ =](?:{_VALUE}))*)?"
)


def in_python(message: str, *, loads: bool = False) -> str:
    """Return a message with options of the command line as keywords of `attnspec.validate`, or of `attnspec.load`.

    ``--as softmax`` becomes ``operation="softmax"``, and ``--rename q=query --rename k=key`` becomes ``renames={"q":
    "query", "k": "key"}``. Options that have no keyword stay.
    """

    def quoted(value: str) -> str:
        return value if value in _PLACEHOLDERS else f'"{value}"'

    def keyword(match: re.Match[str]) -> str:
        option, said = match["option"], match["said"] or ""
        if option in _SWITCHES:
            return f"{_SWITCHES[option]}{said}"
        name, pairs = _KEYWORDS[option], _PAIR.findall(said)
        shown = _OF_LOAD.get(name, name) if loads else name
        if not said:
            return f"{shown}=…"
        if pairs and name in ("renames", "conventions"):
            ordered = [pair[::-1] if loads and name == "renames" else pair for pair in pairs]
            return f"{shown}={{{', '.join(f'{quoted(key)}: {quoted(value)}' for key, value in ordered)}}}"
        values = ", ".join(map(quoted, said[1:].split(",") if name == "without" else [said[1:]]))
        return f"{shown}=({values})" if '", "' in values else f"{shown}={values}"

    if "--" not in message:
        return message
    return _OPTION.sub(keyword, _DEVICE.sub(lambda match: f'device="{match["name"]}"', message))

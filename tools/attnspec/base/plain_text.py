"""One line of plain text from what an implementation says of itself, without anything that steers a reader's screen.

Names and messages of the software under test may hold terminal codes, null bytes, marks that turn the direction of
writing, halves of surrogate pairs, or a whole book. A report passes them through here, then escapes its own markup.
"""

import re

LONGEST = 600
"""How many characters of one text a report shows, unless it has less room."""

_TERMINAL_CODE = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_STEERING = re.compile(
    "["
    "\\x00-\\x20\\x7f-\\x9f"  # control characters, and the runs of spaces that they leave
    "\\u2028\\u2029"  # ends of lines and paragraphs
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"  # the direction of writing
    "\\u200b\\u2060-\\u2064\\ufeff\\ufff9-\\ufffb\\U000e0000-\\U000e0fff"  # invisible characters
    "\\ud800-\\udfff\\ufffe\\uffff"  # no characters, or forbidden by XML 1.0
    "]+"
)


def plain_text(text: str, *, longest: int = LONGEST) -> str:
    """Return `text` on one line, free of steering characters, and cropped to `longest` characters and " …"."""
    shown = _STEERING.sub(" ", _TERMINAL_CODE.sub(" ", text)).strip()
    return shown if len(shown) <= longest else shown[:longest] + " …"

"""Text of strangers, made harmless for a terminal: what an implementation or a file says may hold anything."""

from __future__ import annotations

import re

_LONGEST = 600
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


def plain_text(text: str, *, longest: int = _LONGEST) -> str:
    """Return `text` on one line, without control characters, marks of direction and halves of surrogate pairs.

    Parameters
    ----------
    text
        Any text.
    longest
        How many characters to keep; an ellipsis says that more were there.
    """
    plain = _CONTROL.sub(" ", text)
    return plain if len(plain) <= longest else plain[:longest] + " …"

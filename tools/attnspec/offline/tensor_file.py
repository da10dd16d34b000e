"""Error that the formats of tensor files share: a file that does not follow its own."""

from __future__ import annotations


class TensorFileError(ValueError):
    """A file does not follow its format; the text is the rest of a sentence about it."""

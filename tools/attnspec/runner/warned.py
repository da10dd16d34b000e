"""Warnings of an implementation's own code, which are counted and never shown: they would tear a report."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from attnspec.targets.calling import OUR_PACKAGES, file_in_words


class Warned:
    """Counter of warnings, with the first one in words."""

    def __init__(self) -> None:
        self._count, self._first = 0, ""

    @contextmanager
    def counting(self) -> Generator[None]:
        """Count warnings of code that is not attnspec's, but those that the user ignores; show none."""
        ignored = [entry for entry in warnings.filters if entry[0] == "ignore"]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.resetwarnings()
            warnings.simplefilter("always")
            for _, message, category, module, line in reversed(ignored):
                for each in (category,) if isinstance(category, type) else category:
                    warnings.filterwarnings("ignore", _pattern(message), each, _pattern(module), line)
            warnings.showwarning = self._keep
            yield

    def taken(self) -> tuple[int, str]:
        """Return how many warnings came since this was called last, and the first of them."""
        found = self._count, self._first
        self._count, self._first = 0, ""
        return found

    def _keep(self, message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
        if not filename.startswith(_our_folders()):
            self._count += 1
            said = str(message).partition("\n")[0]
            self._first = self._first or f"{category.__name__}: {said} (line {lineno} of {file_in_words(filename)})"


@cache
def _our_folders() -> tuple[str, ...]:
    specs = filter(None, map(find_spec, OUR_PACKAGES))
    return tuple(f"{folder}/" for spec in specs for folder in spec.submodule_search_locations or ())


def _pattern(text: Any) -> str:
    """Return the text of an entry of a filter, which may be compiled, or None."""
    return "" if text is None else str(getattr(text, "pattern", text))

"""What was measured of an implementation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Law:
    """A rule that an implementation was seen to follow, in place of the one that is owed.

    Attributes
    ----------
    operation
        The operation.
    kind
        What it is about, such as ``scale``; the words are the family's.
    clauses
        The clauses that it breaks: one where it was measured what is computed; several where it was measured only which
        part of the computation goes wrong.
    sentence
        What is computed, and what is owed, in words.
    parameters
        Name to the number, or the word, that was measured.
    case
        Id of the case from which the probes were made.
    confirmed
        How many further cases go wrong just as the law says.
    """

    operation: str
    kind: str
    clauses: tuple[str, ...]
    sentence: str
    parameters: Mapping[str, float | str] = field(default_factory=dict[str, "float | str"])
    case: str = ""
    confirmed: int = 0

    @property
    def is_found(self) -> bool:
        """Whether it says what is computed, and not only which part goes wrong."""
        return len(self.clauses) == 1


@dataclass(frozen=True)
class Measured:
    """What probes brought.

    Attributes
    ----------
    laws
        The laws, those of one operation together.
    calls
        How often the implementation was called for them.
    """

    laws: tuple[Law, ...] = ()
    calls: int = 0

"""Laws: rules that an implementation was measured to follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Law:
    """A rule that an implementation was seen to follow, instead of the expected one.

    The kind, such as ``scale``, is a word of the family. One clause where the computation was measured, several where
    only the faulty part was. Probes were made from `case`; `confirmed` further cases go wrong just as the law says.
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
        """Whether it says which rule is computed, and not only which part goes wrong."""
        return len(self.clauses) == 1


@dataclass(frozen=True)
class Measured:
    """Laws that probes brought, those of one operation together, and the number of calls that they took."""

    laws: tuple[Law, ...] = ()
    calls: int = 0

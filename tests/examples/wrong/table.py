"""The table of wrong implementations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Wrong:
    """A wrong implementation.

    Attributes
    ----------
    id
        Its name; what is wrong is said by the docstring of the class.
    batch
        The batch that it was written in, before it was ever run.
    link
        The bug report that it comes from.
    implementation
        The class.
    """

    id: str
    batch: int
    link: str
    implementation: type[Any]


TABLE: list[Wrong] = []


def after(link: str, *, batch: int) -> Callable[[type], type]:
    """Enter a wrong implementation into the table, after a bug report on GitHub."""

    def enter(implementation: type) -> type:
        TABLE.append(Wrong(implementation.__name__, batch, f"https://github.com/{link}", implementation))
        return implementation

    return enter

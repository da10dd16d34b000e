"""The finding of one call of a black box: a law, or which part of the computation goes wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnspec_probes.attention import clauses_of_laws as clauses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from attnspec_probes.attention.single_laws.probe import Probe


ARGUMENTS = "arguments"
"""The kind of a finding that says nothing but which arguments a call needs to go wrong."""

UNREAD = "unread"
"""The kind of a finding that results depend on what a layout holds and nobody may read."""


@dataclass(frozen=True)
class Finding:
    """A finding of one call: its subject, clauses that are or may be broken, and a sentence; `parameters` were fitted.

    `output` gives the output of any call by the law, None where it says nothing of that call; None where it never does.
    """

    kind: str
    clauses: tuple[str, ...]
    sentence: str
    parameters: Mapping[str, float | str] = field(default_factory=dict[str, "float | str"])
    output: Callable[[Probe], NDArray[Any] | None] | None = None


def part(probe: Probe) -> Finding:
    """Return the finding that the arguments of a call alone give, which goes wrong with no fewer."""
    given = sorted(probe.arguments)
    needed = f"with {', '.join(given)}, and with no fewer" if given else "without any optional argument"
    return Finding(ARGUMENTS, clauses.of_arguments(probe.arguments), f"It goes wrong {needed}.")


def in_words(parameters: Mapping[str, float | str]) -> str:
    """Return what was fitted, in brackets; empty where nothing was."""
    reported = ", ".join(
        f"{name.replace('_', ' ')} {value:.6g}" if isinstance(value, float) else f"{name.replace('_', ' ')} {value}"
        for name, value in parameters.items()
    )
    return f" ({reported})" if reported else ""

"""A gate on a terminal: what fails it first, then what it has to tell, then one closing line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.gate.wording import headline, sections
from attnspec.plain_text import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from attnspec.gate.finding import Outcome

_STYLES = {"fails": "bold red", "warns": "bold yellow", "tells": "bold"}


def print_outcome(outcome: Outcome, console: Console, *, notes: Sequence[str] = (), quiet: bool = False) -> None:
    """Print what a gate came to.

    Parameters
    ----------
    outcome
        What to print.
    console
        Where to.
    notes
        Sentences that stand before the closing line: a diagnosis, another suite.
    quiet
        Print the closing line alone.
    """
    if not quiet:
        for section in sections(outcome):
            _say(console, section.heading, style=_STYLES[section.weight])
            for line in section.lines:
                _say(console, line, indent=2)
            if section.more:
                _say(console, f"… and {section.more} more; --report FILE.json has every result.", indent=2)
            console.print()
        for note in notes:
            _say(console, note)
        if notes:
            console.print()
    _say(console, headline(outcome), style=f"bold {'green' if outcome.is_open else 'red'}")


def _say(console: Console, text: str, *, indent: int = 0, style: str = "") -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(plain_text(text), style=style), (0, 0, 0, indent)))

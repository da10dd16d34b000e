"""The finding of one call of a black box: a law, or the part that goes wrong; and the clauses that it may break."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from attnspec.contract.layout import clause_in, layout_name, layouts_of_clause
from attnspec.specification import clauses as specified
from attnspec_probes.attention.single_laws.probe import Probe

TABLE: Mapping[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
"""What laws are about.

`of_argument`: optional argument to the clauses about it. Several add up: any may be handled wrongly beside the
others. `of_no_argument`: the clauses that a call without such arguments can break. `of_constraint`: constraint to its
clause. `of_reading`: clauses about where keys and values stand in layouts. `of_step`: step that was rounded to the
clauses about it; the others make the scores. `words`: constraint to the kind of a law about it, and to its subject in
a sentence.
"""


def clause(name: str) -> str:
    """Return the id of a clause of the operation."""
    return f"sdpa.{name}"


def clauses(names: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of some clauses."""
    return tuple(map(clause, names))


def of_arguments(arguments: frozenset[str]) -> tuple[str, ...]:
    """Return the clauses that may be broken where a call goes wrong with these optional arguments and no fewer."""
    names = [name for argument, about in TABLE["of_argument"].items() if argument in arguments for name in about]
    return clauses(dict.fromkeys(names or TABLE["of_no_argument"]))


def in_layout(named: Iterable[str], layout: str | None, *, is_sure: bool) -> tuple[str, ...]:
    """Return the clauses that a law may break in a layout, from those in the contract's own form, whose layout is None.

    Unless a law is surely about the computation on given tokens, sequences may be separated wrongly just as well.
    """
    found = [clause_in(each, layout) for each in named]
    if layout is not None and not is_sure:
        found += [each for each in specified() if layout_name(layout) in layouts_of_clause(each)]
    return tuple(dict.fromkeys(found))


def of_unread(layout: str | None) -> str | None:
    """Return the clause about what a layout holds and nobody may read; None where it holds nothing such."""
    unread = clause("paged.unread")
    return unread if layout_name(layout) in layouts_of_clause(unread) else None


def of_scale(probe: Probe) -> str:
    """Return the clause about the factor of a call's scores."""
    scale = probe.attributes.get("scale")
    if scale is None:
        return clause("scale.default")
    return clause("scale.zero" if scale == 0 else "scale.negative" if scale < 0 else "scale.explicit")


def of_mask(probe: Probe) -> str:
    """Return the clause about the mask of a call."""
    return clause("mask.additive" if probe.has_float_mask else "mask.boolean")


def of_causality(probe: Probe) -> str:
    """Return the clause about the alignment of a call."""
    return clause(f"causal.{probe.attributes.get('causal_alignment', 'top_left')}")


def of_position(probe: Probe) -> str:
    """Return the clause about where queries stand, by what a call needs to go wrong."""
    bottom_right = probe.attributes.get("causal_alignment") == "bottom_right"
    if bottom_right and "query_lengths" in probe.inputs:
        return clause("query_lengths.alignment")
    if bottom_right and "key_lengths" in probe.inputs:
        return clause("key_lengths.alignment")
    if "is_causal" not in probe.arguments and "window" in probe.arguments:
        return clause("window.position")
    if probe.past and not bottom_right:
        return clause("past.position")
    return of_causality(probe)


def of_alignment(probe: Probe) -> str:
    """Return the clause about where queries stand, whatever that is for."""
    return of_position(probe.said(is_causal=True))


def of_placed(name: str, probe: Probe) -> tuple[str, ...]:
    """Return the clauses about one argument that positions decide, where it alone is misplaced."""
    if name == "is_causal":
        return (of_causality(probe), clause("past.position")) if probe.past else (of_causality(probe),)
    about = {"window": ("window.position", "window.left", "window.right"), "alibi_slopes": ("alibi.position",)}
    return clauses(about[name])


def of_constraint(constraint: str, probe: Probe) -> str:
    """Return the clause about a constraint on the keys that may be attended."""
    of_probe = {"mask": of_mask, "causal": of_causality, "position": of_position}
    if constraint in of_probe:
        return of_probe[constraint](probe)
    return clause(TABLE["of_constraint"][constraint])


ARGUMENTS = "arguments"
"""The kind of a finding that says nothing but which arguments a call needs to go wrong."""

UNREAD = "unread"
"""The kind of a finding that results depend on what a layout holds and nobody may read."""


READ_ELSEWHERE = "read elsewhere"
"""The kind of a finding that a layout is read where other keys or values stand."""


@dataclass(frozen=True)
class Finding:
    """A finding of one call: its subject, clauses that are or may be broken, and a sentence; `parameters` were fitted.

    `output` gives the output of any call by the law, None where it says nothing of that call; None where it never does.
    `fails` says then which calls go wrong; without it, those with the arguments of the call that was looked at.
    """

    kind: str
    clauses: tuple[str, ...]
    sentence: str
    parameters: Mapping[str, float | str] = field(default_factory=dict[str, "float | str"])
    output: Callable[[Probe], NDArray[Any] | None] | None = None
    fails: Callable[[Probe], bool | None] | None = None


def part(probe: Probe) -> Finding:
    """Return the finding that the arguments of a call alone give, which goes wrong with no fewer."""
    given = sorted(probe.arguments)
    needed = f"with {', '.join(given)}, and with no fewer" if given else "without any optional argument"
    return Finding(ARGUMENTS, of_arguments(probe.arguments), f"It goes wrong {needed}.")


def in_words(parameters: Mapping[str, float | str]) -> str:
    """Return what was fitted, in brackets; empty where nothing was."""
    reported = ", ".join(
        f"{name.replace('_', ' ')} {value:.6g}" if isinstance(value, float) else f"{name.replace('_', ' ')} {value}"
        for name, value in parameters.items()
    )
    return f" ({reported})" if reported else ""

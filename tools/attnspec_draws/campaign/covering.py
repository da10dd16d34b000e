"""Coverage of a campaign's draws, beside the golden cases: the levels of every factor, and which of them meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from attnspec_draws import drawn_of
from attnspec_draws.campaign.coverage import Coverage, coverage
from attnspec_draws.drawing import case_of

if TYPE_CHECKING:
    from attnspec.cases import Case
    from attnspec_draws.campaign.plan import Part

_LISTED = 12
"""Pairs of levels that are named of those that met in draws alone: whoever looks for a case to add begins there."""


def covered(part: Part) -> tuple[str, Coverage]:
    """Return the operation of a part, and what its draws cover; they are drawn again, without expected values."""
    made = ((recipe, drawn_of(recipe)) for recipe in part.recipes)
    return part.kind.operation, coverage(
        case_of(recipe, replace(drawn, expected={})) for recipe, drawn in made if not drawn.is_refused
    )


def together(every: Iterable[tuple[str, Coverage]]) -> dict[str, Coverage]:
    """Add up what several parts cover, by operation."""
    found: dict[str, Coverage] = {}
    for operation, covers in every:
        found[operation] = found.get(operation, Coverage()) + covers
    return found


def coverage_page(golden: Sequence[Case], drawn: Mapping[str, Coverage]) -> str:
    """Return a page in Markdown: of each operation the levels of every factor, in golden cases and in draws."""
    lines = ["# What golden cases and draws cover", ""]
    for operation, of_draws in drawn.items():
        cases = [case for case in golden if case.operation == operation and case.rejects is None and not case.generated]
        lines += [*_of_operation(operation, coverage(cases), of_draws), ""]
    return "\n".join(lines)


def _of_operation(operation: str, golden: Coverage, drawn: Coverage) -> Iterator[str]:
    yield f"## `{operation}`"
    yield ""
    yield "| factor | level | golden cases | draws |"
    yield "| --- | --- | ---: | ---: |"
    for factor in sorted({*golden.levels, *drawn.levels}):
        cases, draws = golden.levels.get(factor, Counter[str]()), drawn.levels.get(factor, Counter[str]())
        for level in sorted({*cases, *draws}):
            yield f"| {factor} | {level} | {cases[level]:,} | {draws[level]:,} |"
    alone = sorted(pair for pair in drawn.pairs if not golden.pairs[pair])
    yield ""
    yield (
        f"{len(golden.pairs):,} pairs of levels meet in golden cases, {len(drawn.pairs):,} in draws, "
        f"{len(alone):,} of these in draws alone{':' if alone else '.'}"
    )
    if alone:
        yield ""
    for (one, level), (other, another) in alone[:_LISTED]:
        yield f"- {one} {level} with {other} {another}"
    if len(alone) > _LISTED:
        yield f"- and {len(alone) - _LISTED:,} others"

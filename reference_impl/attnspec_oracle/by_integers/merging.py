"""One row of two merged parts of attention, every number correctly rounded or declared undecided."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from attnspec_oracle.by_integers.attention import answered
from attnspec_oracle.by_integers.question import Group, Question, exact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


class MergedRow(NamedTuple):
    """What one row comes to; None stands for a number that stayed undecided.

    Attributes
    ----------
    output
        The mean of both outputs, (Ev,).
    logsumexp
        The logarithm of the softmax denominator of both parts.
    """

    output: list[float | None]
    logsumexp: float | None


def merged_row(inputs: Mapping[str, NDArray[Any]], row: tuple[int, int, int]) -> MergedRow:
    """Compute one row of ``merge_states`` (clauses ``merge.*``).

    Parameters
    ----------
    inputs
        Those of the operation. What a part holds whose logarithm is minus infinity is not read; all else is finite.
    row
        Batch item, head, query.

    Raises
    ------
    ValueError
        When a number that the row reads is not finite.
    """
    width = inputs["output_a"].shape[3]
    # Parts of one and the same logarithm are two keys of one and the same logit.
    members: dict[Fraction, list[list[Fraction]]] = {}
    for side in ("a", "b"):
        logarithm = float(inputs[f"logsumexp_{side}"][row])
        if logarithm != -math.inf:
            members.setdefault(exact(logarithm), []).append([exact(x) for x in inputs[f"output_{side}"][row].tolist()])
    groups = [
        Group(
            Fraction(0),
            logarithm,
            len(parts),
            [sum(of_feature, Fraction(0)) for of_feature in zip(*parts, strict=True)],
        )
        for logarithm, parts in members.items()
    ]
    merged = answered(Question(groups, [], Fraction(1), width, Fraction(0)), width)
    return MergedRow(merged.output, merged.logsumexp)

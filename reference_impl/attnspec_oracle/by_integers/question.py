"""What one query of attention asks for, in exact numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Group:
    """Keys of one and the same logit, ``scale * dot`` behind the softcap, plus ``bias``; or the sink."""

    dot: Fraction
    bias: Fraction
    count: int
    sums: Sequence[Fraction]


@dataclass(frozen=True)
class Question:
    """All that one query asks for, in exact numbers."""

    groups: Sequence[Group]
    of_key: Sequence[int | None]
    scale: Fraction | None
    width: int
    softcap: Fraction


def read_question(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], row: tuple[int, int, int]
) -> Question:
    """Read what a row (batch item, query head, query) asks for.

    Raises
    ------
    ValueError
        When an input that the row reads is not finite.
    """
    item, head, query = row
    vector = [exact(number) for number in inputs["query"][item, head, query].tolist()]
    shared = head * inputs["key"].shape[1] // inputs["query"].shape[1]
    keys, values = tokens(inputs, "key", item, shared), tokens(inputs, "value", item, shared)
    of_query, of_key_head, of_value = (_scale(inputs, name, item, shared) for name in ("query", "key", "value"))
    unit = of_query * of_key_head
    # Keys with the same dot product and the same bias have the same logit. None stands for the sink.
    members: dict[tuple[Fraction, Fraction], list[int | None]] = {}
    for j, bias in enumerate(_biases(inputs, attributes, row, len(keys))):
        if bias is not None:
            dot = unit * sum((a * exact(b) for a, b in zip(vector, keys[j], strict=True)), Fraction(0))
            members.setdefault((dot, bias), []).append(j)
    if "sinks" in inputs and not is_padding(inputs, item, query):
        members.setdefault((Fraction(0), exact(inputs["sinks"][head])), []).append(None)
    groups: list[Group] = []
    of_key: list[int | None] = [None] * len(keys)
    for (dot, bias), positions in members.items():
        sums = [Fraction(0)] * inputs["value"].shape[3]
        for j in positions:
            if j is not None:
                sums = [total + of_value * exact(number) for total, number in zip(sums, values[j], strict=True)]
                of_key[j] = len(groups)
        groups.append(Group(dot, bias, len(positions), sums))
    scale: float | None = attributes.get("scale")
    softcap: float | None = attributes.get("softcap")
    return Question(groups, of_key, None if scale is None else Fraction(scale), len(vector), Fraction(softcap or 0))


def tokens(inputs: Mapping[str, NDArray[Any]], name: str, item: int, head: int) -> list[list[float]]:
    """Give the keys or values of a head, past ones first."""
    tokens: list[list[float]] = []
    for part in (f"past_{name}", name):
        if part in inputs:
            tokens += inputs[part][item, head].tolist()
    return tokens


def _scale(inputs: Mapping[str, NDArray[Any]], name: str, item: int, shared: int) -> Fraction:
    """Give what the quantized numbers of a key head count; 1 for numbers that count as they are."""
    if f"{name}_scale" not in inputs:
        return Fraction(1)
    entry: Any = inputs[f"{name}_scale"]
    for index in (item, shared)[2 - entry.ndim :]:
        entry = entry[index if len(entry) > 1 else 0]
    return exact(float(entry))


def _biases(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], row: tuple[int, int, int], keys: int
) -> list[Fraction | None]:
    """Give what is added to the score of every key, None for one that may not be attended."""
    item, head, query = row
    past = keys - inputs["key"].shape[2]
    end = int(inputs["key_lengths"][item]) if "key_lengths" in inputs else keys
    count = int(inputs["query_lengths"][item]) if "query_lengths" in inputs else inputs["query"].shape[2]
    at_the_end = attributes.get("causal_alignment", "top_left") == "bottom_right"
    position = query + (end - count if at_the_end else past)
    sides: Sequence[int | None] = attributes.get("window") or (None, None)
    before, after = sides
    first = 0 if before is None else position - before
    last = end - 1 if after is None else min(end - 1, position + after)
    if attributes.get("is_causal", False):
        last = min(last, position)
    if is_padding(inputs, item, query):
        last = -1
    slope = exact(inputs["alibi_slopes"][head]) if "alibi_slopes" in inputs else Fraction(0)
    biases: list[Fraction | None] = [-slope * abs(position - j) if first <= j <= last else None for j in range(keys)]
    return biases if "mask" not in inputs else _masked(biases, inputs["mask"], row)


def _masked(biases: list[Fraction | None], mask: NDArray[Any], row: tuple[int, int, int]) -> list[Fraction | None]:
    """Add the row of a mask, or exclude by it."""
    entry: Any = mask
    for axis, index in zip(range(mask.ndim - 1), row[4 - mask.ndim :], strict=True):
        entry = entry[index if mask.shape[axis] > 1 else 0]
    entries: list[bool | float] = entry.tolist()
    return [
        None if bias is None or added is False or added == -math.inf else bias + (0 if added is True else exact(added))
        for bias, added in zip(biases, entries, strict=True)
    ]


def is_padding(inputs: Mapping[str, NDArray[Any]], item: int, query: int) -> bool:
    """Say whether a query lies beyond those that count."""
    return "query_lengths" in inputs and query >= inputs["query_lengths"][item]


def exact(number: float) -> Fraction:
    """Read a number as the fraction that it is."""
    if not math.isfinite(number):
        raise ValueError(f"This oracle takes finite numbers only, not {float(number)!r}.")
    return Fraction(float(number))

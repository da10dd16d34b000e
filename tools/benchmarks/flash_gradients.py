"""Why draws fail the gradients of PyTorch's flash kernel on a CPU in bfloat16: sums that are rounded on the way.

``python tools/benchmarks/flash_gradients.py [--draws N] [--write]`` asks for N draws of the backward pass, and computes
for those that fail what comes of sums that are rounded to bfloat16 where PyTorch rounds them. It prints each;
``--write`` writes their counts to ``spec/studies/flash-gradients.md``.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from study import Study, add_write_option, publish, table

from attnspec.cases import attributes_in, suite_of_random
from attnspec.contract.dtypes import rounded_to
from attnspec.runner import resolved_for, run_suite
from attnspec.targets import load
from attnspec_draws import Recipe, draw, learned, not_offered
from attnspec_draws.generators import Limits
from attnspec_reference import scaled_dot_product_attention, scaled_dot_product_attention_backward

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from attnspec.runner import Result
    from attnspec.targets import Implementation

OPERATION = "scaled_dot_product_attention_backward"
DTYPE = "bfloat16"
SEED = "flash"
BLOCKS = {768: 256, 192: 64, 0: 32}
"""From how many queries on so many of them are added before the sum is rounded: how PyTorch 2.13 splits them."""

KNOWN = frozenset(("negative_scale", "zero_scale", "attended_nan", "empty_heads", "refused", "changed_argument"))
"""What is left out: known defects of the library, and what is about other things than gradients."""

ABOUT = """
Two sums of gradients are rounded on the way in PyTorch's backward pass on a CPU. The flash kernel adds the gradients of
keys and values over blocks of 32 queries, of 64 from 192 queries on and of 256 from 768 on, and keeps the sum in the
dtype of the tensors. And where several query heads share a key head, the gradients of the heads are added one after
the other in that dtype, too, as the backward pass of `repeat_interleave` does. [The page of the
operation](../operations/attention/scaled_dot_product_attention_backward.md) has sums in float32 at least, so that draws
of many queries, or of many heads to a key head, fail it in bfloat16, by a little more than a tolerance.

Each wrong element of a draw that fails is held against the sum as PyTorch makes it, computed in float64 and rounded
where PyTorch rounds: the weights, which any kernel may round, and then the sums. *Explained* is one that lies within a
tolerance of that. Without keys a gradient of queries can be NaN, [another defect of PyTorch](draw-alarms.md), which no
sum explains.
"""


@dataclass(frozen=True)
class Failure:
    """What came of one draw that fails.

    Attributes
    ----------
    recipe, output
        The draw, and the gradient that is wrong.
    queries, group
        How many queries there are, and how many query heads to a key head.
    wrong, explained
        How many elements are wrong, and how many of these the rounded sums explain.
    worst
        The largest error / tolerance, and what is left of it against the rounded sums.
    """

    recipe: str
    output: str
    queries: int
    group: int
    wrong: int
    explained: int
    worst: float
    left: float


def failures(implementation: Implementation, draws: int) -> Iterator[Failure]:
    """Ask for draws, and look at those that fail."""
    declaration = implementation.declaration
    resolved = resolved_for(declaration, {})
    limits = Limits(DTYPE, KNOWN | not_offered(declaration, resolved.of(OPERATION)))

    def ask(case: Any) -> Result:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (result,) = run_suite(suite_of_random([case]), implementation, dtypes=(DTYPE,), goes_on=True)
        return result

    without = learned(OPERATION, limits, lambda case: ask(case).status != "unsupported", f"{SEED}-offers")
    for number in range(draws):
        result = ask(draw(Recipe(OPERATION, SEED, number, Limits(DTYPE, without))))
        if result.is_wrong:
            yield from _looked_at(result)


def _looked_at(result: Result) -> Iterator[Failure]:
    run, got = result.run, result.got
    if result.verdict.check != "values" or got is None or run.bound is None:
        yield Failure(result.case.id, result.verdict.check or result.status, 0, 0, 0, 0, float("inf"), float("inf"))
        return
    sums = _rounded_sums(result)
    expected = result.case.golden(DTYPE)
    for name in ("grad_query", "grad_key", "grad_value"):
        error = np.abs(got[name].astype(np.float64) - expected[name])
        tolerance = run.bound.of(name, run.bound_index).error
        wrong = np.logical_not(error <= tolerance)  # NaN is wrong, too
        if not wrong.any():
            continue
        left = np.abs(got[name].astype(np.float64) - sums[name])[wrong] / tolerance[wrong]
        yield Failure(
            recipe=result.case.id,
            output=name,
            queries=expected["grad_query"].shape[2],
            group=expected["grad_query"].shape[1] // expected["grad_key"].shape[1],
            wrong=int(wrong.sum()),
            explained=int((left <= 1).sum()),
            worst=float((error / tolerance)[wrong].max()),
            left=float(left.max()),
        )


def _rounded_sums(result: Result) -> dict[str, NDArray[np.float64]]:
    """Return gradients whose sums over the queries are rounded after every block of them."""
    inputs, attributes = result.case.inputs, attributes_in(DTYPE, result.case.attributes)
    forward = {name: array for name, array in inputs.items() if name in ("query", "key", "value", "mask")}
    weights = scaled_dot_product_attention(**forward, **attributes).weights
    found = scaled_dot_product_attention_backward(**inputs, **attributes)
    scale = attributes.get("scale")
    scale = inputs["query"].shape[-1] ** -0.5 if scale is None else scale
    return {
        "grad_query": found.grad_query,
        "grad_key": _summed(found.grad_scores * scale, inputs["query"], inputs["key"].shape[1]),
        "grad_value": _summed(weights, inputs["grad_output"], inputs["key"].shape[1]),
    }


def _summed(factors: NDArray[Any], rows: NDArray[Any], shared: int) -> NDArray[np.float64]:
    """Sum ``factors[..., q, k] * rows[..., q, :]`` over the queries, block by block, then over the heads of a group."""
    batch, heads, queries, keys = factors.shape
    factors = rounded_to(factors, DTYPE).astype(np.float64)
    size = next(size for least, size in BLOCKS.items() if queries >= least)
    total = np.zeros((batch, heads, keys, rows.shape[-1]))
    for start in range(0, queries, size):
        block = slice(start, start + size)
        total = rounded_to(total + factors[:, :, block].swapaxes(-1, -2) @ rows[:, :, block], DTYPE).astype(np.float64)
    of_heads = total.reshape(batch, shared, heads // shared, keys, rows.shape[-1])
    found = np.zeros_like(of_heads[:, :, 0])
    for head in range(heads // shared):
        found = rounded_to(found + of_heads[:, :, head], DTYPE).astype(np.float64)
    return found


_WORST = ("worst error / tolerance", "worst against the sums")
HEADING = ("output", "draws", "queries at most", "heads to a key head", "wrong", "explained", *_WORST)
EVERY = ("draw", *HEADING[:1], "queries", *HEADING[3:])


def _row(each: Failure) -> tuple[object, ...]:
    counts = (each.queries, each.group, each.wrong, each.explained)
    return f"`{each.recipe}`", f"`{each.output}`", *counts, f"{each.worst:.2f}", f"{each.left:.2f}"


def _of_output(name: str, found: Sequence[Failure]) -> tuple[object, ...]:
    most = (max(each.queries for each in found), max(each.group for each in found))
    counts = (sum(each.wrong for each in found), sum(each.explained for each in found))
    worst = (max(each.worst for each in found), max(each.left for each in found))
    return f"`{name}`", len(found), *most, *counts, *(f"{ratio:.2f}" for ratio in worst)


def main() -> None:
    """Ask, print, and write the page where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=3000)
    add_write_option(parser, "flash-gradients")
    options = parser.parse_args()
    implementation = load("torch-flash")
    found = list(failures(implementation, options.draws))
    of_output = {name: [each for each in found if each.output == name] for name in sorted({e.output for e in found})}
    wrong, explained = sum(each.wrong for each in found), sum(each.explained for each in found)
    lines = [
        f"{options.draws:,} draws of the backward pass; {len({each.recipe for each in found})} fail. {explained:,} of "
        f"their {wrong:,} wrong elements are explained by sums that are rounded on the way.",
        "",
        *table(HEADING, [_of_output(name, each) for name, each in of_output.items()]),
    ]
    details = [*table(EVERY, [_row(each) for each in found]), ""]
    publish(Study("Gradients of PyTorch's flash kernel in bfloat16", ABOUT, lines, details), options.write)


if __name__ == "__main__":
    main()

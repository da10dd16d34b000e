"""Attention in two parts: certified outputs and logarithms of each, which merged are attention over all keys.

`tests/unit/attnspec/families/attention/test_merged_states.py` compares them with attention over all keys, exactly
computed. The parts have numbers of all digits, so they are offered in float64 alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.merge.parts import merging
from attnspec_authoring.recipes.generator import grid
from attnspec_oracle import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

ATTENTION = "scaled_dot_product_attention"
SPLIT_TWICE = "ROCm/aiter/issues/4350"
SINK_TWICE = "sgl-project/sgl-kernel-npu/pull/216"
PREFIX = "vllm-project/vllm/pull/47079"


@dataclass(frozen=True)
class Split:
    """Attention whose keys are attended in two parts."""

    title: str
    first: int
    sizes: tuple[int, int, int, int, int, int] = (1, 2, 2, 3, 6, 3)
    factor: float = 1.0
    mask: NDArray[np.bool_] | None = None
    sinks: tuple[tuple[float, ...], int] | None = None
    report: str | None = None

    def whole(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the inputs of attention over all keys."""
        batch, heads, shared, queries, keys, width = self.sizes
        shapes = {
            "query": (batch, heads, queries, width),
            "key": (batch, shared, keys, width),
            "value": (batch, shared, keys, width),
        }
        inputs: dict[str, NDArray[Any]] = {
            tensor: grid(f"merge/{name}/{tensor}", shape) for tensor, shape in shapes.items()
        }
        inputs["query"] = inputs["query"] * self.factor
        if self.mask is not None:
            inputs["mask"] = self.mask
        if self.sinks is not None:
            inputs["sinks"] = np.array(self.sinks[0])
        return inputs

    def part(self, name: str, number: int) -> dict[str, NDArray[Any]]:
        """Return the inputs of attention over the keys of one part."""
        inputs = self.whole(name)
        keys = slice(None, self.first) if number == 0 else slice(self.first, None)
        for tensor in ("key", "value"):
            inputs[tensor] = inputs[tensor][:, :, keys]
        if "mask" in inputs:
            inputs["mask"] = inputs["mask"][:, keys]
        if self.sinks is not None and self.sinks[1] != number:
            del inputs["sinks"]
        return inputs


CAUSAL = np.tri(4, 6, 1, dtype=np.bool_)
HOLES = np.array([[True, True, True, False, False, False], [False] * 3 + [True] * 3, [False] * 6])

SPLITS: Mapping[str, Split] = {
    "split_halves": Split("halves", 3),
    "split_first_key": Split("the first key, and the others", 1, sizes=(2, 1, 1, 3, 6, 2)),
    "split_last_key": Split("all but the last key, and that one", 5, report=PREFIX),
    "split_before_all": Split("no keys, and all", 0),
    "split_after_all": Split("all keys, and none", 6),
    "split_causal": Split(
        "keys of which early queries see the first half alone", 4, sizes=(1, 3, 3, 4, 6, 2), mask=CAUSAL
    ),
    "split_masked": Split("halves that a mask leaves empty in some rows, and both in one", 3, mask=HOLES),
    "split_grouped": Split("halves of shared key heads", 3, sizes=(1, 4, 2, 3, 6, 2)),
    "split_decoding": Split("a long past, and the new token", 20, sizes=(2, 2, 1, 1, 21, 2), report=SPLIT_TWICE),
    "split_sharp": Split("halves of which mostly one has all the weight", 3, factor=16.0),
    "split_sink_in_first": Split("halves, with a sink in the first", 3, sinks=((0.5, 2.0), 0), report=SINK_TWICE),
    "split_sink_in_second": Split("halves, with a sink in the second", 3, sinks=((1.5, -1.0), 1)),
    "split_sink_alone": Split("all keys, and a sink alone", 6, sinks=((0.75, 3.0), 1)),
    "split_sink_masked": Split(
        "halves that a mask leaves empty in places, beside a sink", 3, mask=HOLES, sinks=((0.5, 1.0), 0)
    ),
}
"""Name of a case to how its keys are split."""


def merged_parts(name: str, split: Split) -> AuthoredCase:
    """Attend each part exactly, rounded once, and ask for both together."""
    inputs: dict[str, Any] = {}
    for number, side in enumerate("ab"):
        outputs = evaluate(ATTENTION, split.part(name, number), {}, outputs=("output", "logsumexp"))
        inputs |= {f"{output}_{side}": array for output, array in outputs.items()}
    first, second = (np.asarray(inputs[f"logsumexp_{side}"]) == -np.inf for side in "ab")
    clauses = {
        "average": True,
        "weights": True,
        "empty.one": bool(np.any(first != second)),
        "empty.both": bool(np.any(first & second)),
        "split": True,
    }
    return merging(name, f"attention over {split.title}")(
        inputs["output_a"].shape,
        tuple(clause for clause, holds in clauses.items() if holds),
        **inputs,
        dtypes=("float64",),
        report=split.report,
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of attention in two parts."""
    return tuple(merged_parts(name, split) for name, split in SPLITS.items())

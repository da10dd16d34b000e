"""Making a case of two parts: its clauses and conventions, and the input with which it is called once more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import made_for
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, headed, reported
from attnspec_authoring.recipes.generator import grid, require_exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

PROFILE = "merge"
BOTH = ("output", "logsumexp")
NAMES = ("output_a", "logsumexp_a", "output_b", "logsumexp_b")
NONE = -np.inf
"""The logarithm of a part without keys."""

Shape = tuple[int, int, int, int]


def drawn(name: str, shape: Shape) -> dict[str, Any]:
    """Draw two parts of a shape, every number of few bits."""
    shapes = {tensor: shape if tensor.startswith("output") else shape[:3] for tensor in NAMES}
    return {tensor: grid(f"{PROFILE}/{name}/{tensor}", of) for tensor, of in shapes.items()}


def of_side(side: str, **tensors: Any) -> dict[str, Any]:
    """Name the tensors of one part: `output` and `logsumexp`, whichever are given."""
    return {f"{name}_{side}": numbers for name, numbers in tensors.items()}


@headed
def merging(
    name: str,
    title: str,
    shape: Shape,
    clauses: tuple[str, ...] = ("average",),
    *,
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    memory_order: Mapping[str, str] | None = None,
    report: str | None = None,
    **given: Any,
) -> AuthoredCase:
    """Make a case of two parts; what is not given is drawn, and what is given is repeated to its shape."""
    case_id = f"{PROFILE}/{name}"
    inputs = drawn(name, shape)
    for tensor, numbers in given.items():
        inputs[tensor] = np.broadcast_to(np.asarray(numbers, dtype=np.float64), inputs[tensor].shape).copy()
    return AuthoredCase(
        id=case_id,
        title=f"Merge states: {title}",
        operation="merge_states",
        clauses=tuple(dict.fromkeys(f"merge.{clause}" for clause in (*clauses, "rows", "logsumexp", "shape"))),
        source=made_for(PROFILE) if report is None else reported(report),
        inputs={tensor: require_exact(array, dtypes, named=case_id) for tensor, array in inputs.items()},
        outputs=BOTH,
        dtypes=dtypes,
        memory_order=memory_order or {},
        conventions=sensitive_to(inputs),
    )


def sensitive_to(inputs: Mapping[str, NDArray[np.float64]]) -> tuple[str, ...]:
    """Name the conventions on which what two parts come to depends."""
    empty = {side: np.isneginf(inputs[f"logsumexp_{side}"]) for side in "ab"}
    outputs = {side: ~np.isfinite(inputs[f"output_{side}"]).all(axis=-1) for side in "ab"}
    logarithms = [np.isnan(inputs[f"logsumexp_{side}"]).any() for side in "ab"]
    sensitive = {
        "empty_logsumexp": any(none.any() for none in empty.values()),
        "logsumexp_base": not bool((empty["a"] & empty["b"]).all()),
        "masked_nonfinite": any(bool((empty[side] & outputs[side]).any()) for side in "ab"),
        "nonfinite_input": any(stored.any() for stored in outputs.values()) or any(logarithms),
    }
    return tuple(sorted(name for name, depends in sensitive.items() if depends))


CHANGED: Mapping[str, str] = {
    "merge/plain": "output_a",
    "merge/plain_other_numbers": "logsumexp_b",
    "merge/batch": "logsumexp_a",
    "merge/heads_9": "output_b",
    "merge/gaps_of_heads": "logsumexp_b",
    "merge/gaps_in_one_head": "logsumexp_a",
    "merge/empty_rows": "output_b",
    "merge/empty_heads": "output_a",
    "merge/ten_thousand_roughly": "output_a",
}
"""Id of a case to its changed input."""


def with_changed_arguments(cases: Iterable[AuthoredCase]) -> tuple[AuthoredCase, ...]:
    """Say of each case which input is changed in the call after it."""
    return tuple(
        replace(case, changed_argument=ChangedArgument(CHANGED[case.id], reversed=True)) if case.id in CHANGED else case
        for case in cases
    )

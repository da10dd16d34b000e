"""How the profile makes a case: what it draws, and the clauses and conventions that follow from what it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.base.errors import RecipeError
from attnspec.contract import OPERATIONS
from attnspec_authoring.recipes.attention.attendance import (
    attendance,
    depends_on_alignment,
    excludes_nonfinite,
    holds_nonfinite,
    is_positional,
)
from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, Sizes, drawn_by, made_for
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, headed, reported
from attnspec_authoring.recipes.generator import grid, require_exact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.cases import ChangedArgument
    from attnspec_authoring.recipes.attention.attendance import Attendance

BACKWARD = OPERATIONS["scaled_dot_product_attention_backward"]
PROFILE = "backward"
STORED = ("output", "logsumexp")
STEPS = ("delta", "grad_scores")
PLAIN = Sizes(1, 2, 2, 4, 5, 2, 2)
BATCH = Sizes(3, 2, 2, 4, 5, 2, 1)
GROUPED = Sizes(1, 6, 2, 4, 5, 2, 1)
SQUARE = Sizes(1, 2, 2, 5, 5, 2, 1)


def drawn(name: str, sizes: Sizes) -> dict[str, Any]:
    """Draw the gradient of the output, queries, keys and values."""
    tensors = sizes.drawn(name)
    shape = (*tensors["query"].shape[:3], tensors["value"].shape[3])
    return {"grad_output": grid(f"{name}/grad_output", shape), **tensors}


def of_logsumexp(name: str, sizes: Sizes) -> NDArray[np.float64]:
    """Draw a gradient of the logsumexp."""
    return grid(f"{name}/grad_logsumexp", (sizes.batch, sizes.heads, sizes.queries))


@headed
def gradients(
    name: str,
    title: str,
    sizes: Sizes,
    *,
    clauses: tuple[str, ...] | str = (),
    report: str | None = None,
    derived: tuple[str, ...] = (),
    outputs: tuple[str, ...] = (),
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    memory_order: Mapping[str, str] | None = None,
    changed_argument: ChangedArgument | None = None,
    with_grad_logsumexp: bool = False,
    **arguments: Any,
) -> AuthoredCase:
    """Make a case of the backward pass, from what ``attention`` takes for one of the forward pass.

    The name goes without the profile and clauses without the short name; outputs are stored beside the expected ones.
    """
    case_id = f"{PROFILE}/{name}"
    arguments, inputs = drawn_by(case_id, arguments), drawn(case_id, sizes)
    if with_grad_logsumexp:
        inputs["grad_logsumexp"] = of_logsumexp(case_id, sizes)
    known = (*BACKWARD.inputs, *BACKWARD.optional_inputs)
    inputs |= {tensor: np.asarray(array) for tensor, array in arguments.items() if tensor in known}
    attributes = {attribute: value for attribute, value in arguments.items() if attribute not in known}
    for tensor, array in inputs.items():
        require_exact(array, dtypes, named=f"{case_id}, {tensor}")
    if depends_on_alignment(inputs, attributes) != ("causal_alignment" in attributes):
        raise RecipeError(f"{case_id}: state causal_alignment exactly where top_left and bottom_right differ.")
    stored = (*BACKWARD.required(inputs), *outputs)
    given = {*inputs, *derived}
    named = (
        *(f"{BACKWARD.short_name}.{clause}" for clause in (clauses.split() if isinstance(clauses, str) else clauses)),
        *clauses_of(inputs, attributes, given, stored),
    )
    return AuthoredCase(
        id=case_id,
        title=f"Gradients: {title}",
        operation=BACKWARD.name,
        clauses=tuple(dict.fromkeys(named)),
        source=made_for(PROFILE) if report is None else reported(report),
        inputs=inputs,
        attributes=attributes,
        derived=derived,
        outputs=stored,
        dtypes=dtypes,
        conventions=conventions(inputs, attributes, given),
        memory_order=memory_order or {},
        changed_argument=changed_argument,
    )


def clauses_of(
    inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], given: set[str], outputs: tuple[str, ...]
) -> tuple[str, ...]:
    """Name the clauses of the features that a case uses; of a case that uses none, those of every gradient."""
    seen = attendance(inputs, attributes)
    mask, scale, softcap = inputs.get("mask"), attributes.get("scale"), attributes.get("softcap")
    floats = mask is not None and mask.dtype != np.bool_
    dead, sinks = bool(seen.dead.any()), "sinks" in inputs
    moved = bool(seen.offsets.any()) and is_positional(inputs, attributes)
    empty = seen.attended.shape[-1] == 0
    used = {
        "stored": bool(given & set(STORED)),
        "causal": bool(attributes.get("is_causal")),
        "window": attributes.get("window") is not None,
        "position": moved or attributes.get("causal_alignment") == BOTTOM_RIGHT,
        "alibi": "alibi_slopes" in inputs,
        "mask.boolean": mask is not None and not floats,
        "mask.additive": floats,
        "key_lengths": "key_lengths" in inputs,
        "query_lengths": "query_lengths" in inputs,
        "grad_logsumexp": "grad_logsumexp" in inputs,
        "softcap": softcap is not None,
        "scale.explicit": scale is not None,
        "scale.zero": scale == 0,
        "heads.grouped": inputs["query"].shape[1] != inputs["key"].shape[1],
        "grad_mask": floats,
        "grad_mask.broadcast": floats and mask is not None and mask.shape != seen.attended.shape,
        "grad_mask.excluded": floats and bool((seen.attended != np.broadcast_to(True, seen.attended.shape)).any()),
        "sinks": sinks,
        "grad_sinks": sinks,
        "delta": "delta" in outputs,
        "grad_scores": "grad_scores" in outputs,
        "fully_masked_row": dead and not sinks and not empty,
        "sinks.fully_masked_row": dead and sinks,
        "no_keys": dead and empty,
        "nonfinite_input": holds_nonfinite(inputs),
        "masked_nonfinite": excludes_nonfinite(inputs, seen),
    }
    named = tuple(clause for clause, uses in used.items() if uses)
    of_all = ("grad_query", "grad_key", "grad_value", "grad_weights", "delta", "grad_logits", "recomputed")
    return tuple(f"{BACKWARD.short_name}.{clause}" for clause in named or of_all)


def conventions(inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], given: set[str]) -> tuple[str, ...]:
    """Name the conventions on which a case depends: by what is expected, and by how the logsumexp is handed over."""
    seen = attendance(inputs, attributes)
    has_keys = seen.attended.shape[-1] > 0
    dead = bool(seen.dead.any()) and "sinks" not in inputs
    logsumexp = "logsumexp" in given
    sensitive = {
        "alibi_bias": "alibi_slopes" in inputs and logsumexp,
        "causal_alignment": depends_on_alignment(inputs, attributes),
        "empty_logsumexp": dead and logsumexp,
        "fully_masked_row": dead and has_keys,
        "logsumexp_base": logsumexp or "grad_logsumexp" in given,
        "masked_nonfinite": excludes_nonfinite(inputs, seen)
        or _pads_nonfinite(inputs)
        or _spoils_beside_exclusions(inputs, seen),
        "no_keys": bool(seen.dead.any()) and not has_keys,
        "nonfinite_input": holds_nonfinite(inputs),
    }
    return tuple(sorted(name for name, depends in sensitive.items() if depends))


def _spoils_beside_exclusions(inputs: Mapping[str, NDArray[Any]], seen: Attendance) -> bool:
    """Return whether a query that may not attend to some key holds NaN or infinity, or its gradient does."""
    spoilt = [_spoilt_tokens(inputs[name]) for name in ("grad_output", "query", "grad_logsumexp") if name in inputs]
    excluded = (~seen.attended).any(axis=-1) & seen.graded[:, np.newaxis]
    return any(bool((tokens & excluded).any()) for tokens in spoilt)


def _pads_nonfinite(inputs: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether a query that does not count holds NaN or infinity, or its gradient does."""
    if "query_lengths" not in inputs:
        return False
    counted = attendance(inputs, {}).graded[:, np.newaxis]
    of_queries = (inputs[name] for name in ("grad_output", "query", "grad_logsumexp", *STORED) if name in inputs)
    return any(bool((_spoilt_tokens(array) & ~counted).any()) for array in of_queries)


def _spoilt_tokens(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which tokens (B, Hq, Sq) hold NaN or infinity, of numbers or of vectors."""
    finite = np.isfinite(array)
    return np.logical_not(finite if array.ndim == 3 else np.logical_and.reduce(finite, axis=-1))

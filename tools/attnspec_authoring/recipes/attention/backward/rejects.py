"""Inputs that make no sense, each beside a valid twin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, boolean_mask
from attnspec_authoring.recipes.attention.backward.gradients import BACKWARD, PROFILE, gradients
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, Rejects, Source, headed
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Mapping

STRICT = ("input_checks", "strict")
SIZES = Sizes(3, 1, 1, 4, 5, 2, 1)
TWINS = (
    gradients("twin_plain", "Valid twin: gradient, query, key and value")(SIZES, with_grad_logsumexp=True),
    gradients("twin_grouped", "Valid twin: six query heads over two")(Sizes(1, 6, 2, 4, 5, 2)),
    gradients("twin_mask", "Valid twin: a Boolean mask")(SIZES, mask=boolean_mask("backward/twin_mask", SIZES.mask)),
    gradients("twin_lengths", "Valid twin: lengths")(SIZES, key_lengths=[5, 2, 3], query_lengths=[4, 1, 3]),
)
_INPUTS = {twin.id.partition("/")[2]: twin.inputs for twin in TWINS}


@headed
def refused(
    name: str,
    title: str,
    clause: str,
    twin: str,
    reason: str,
    replaced: Mapping[str, Any],
    *,
    strict: bool = True,
    twins: Mapping[str, Mapping[str, Any]] | None = None,
) -> AuthoredCase:
    """Make a case that must be refused: its twin with some inputs replaced; by all, or by who checks strictly."""
    inputs = {**(twins or _INPUTS)[twin], **{tensor: np.asarray(array) for tensor, array in replaced.items()}}
    return AuthoredCase(
        id=f"{PROFILE}/rejects_{name}",
        title=f"Gradients: {title} {'are' if title.endswith('s') else 'is'} refused",
        operation=BACKWARD.name,
        clauses=(f"{BACKWARD.short_name}.rejects.{clause}",),
        source=Source(section=f"made for the profile {PROFILE}"),
        inputs=inputs,
        outputs=BACKWARD.outputs[:1],
        dtypes=EVERY_DTYPE,
        rejects=Rejects(reason, f"{PROFILE}/{twin}", STRICT if strict else None),
    )


def of_shape(name: str, *shape: int) -> Any:
    """Draw a tensor whose shape does not fit."""
    return grid(f"backward/rejects/{name}", shape)


def shape_refusals() -> tuple[AuthoredCase, ...]:
    """Ranks, widths, batches, heads, lengths and masks."""
    plain, grouped = _INPUTS["twin_plain"], _INPUTS["twin_grouped"]
    return (
        *(
            refused(f"rank_3_without_{axis}_axis", f"Four tensors without a {axis} axis, and nothing beside them")(
                "rank",
                "twin_grouped",
                f"All tensors lack the {axis} axis.",
                {name: array[part] for name, array in grouped.items()},
            )
            for axis, part in (("batch", np.s_[0]), ("head", np.s_[:, 0]))
        ),
        refused("rank_3", "Tensors without a batch axis")(
            "rank", "twin_plain", "All tensors lack an axis.", {name: array[0] for name, array in plain.items()}
        ),
        refused("width_of_keys", "A key of three features for queries of two")(
            "width",
            "twin_plain",
            "The queries have width 2, the keys width 3.",
            {"key": of_shape("width", 3, 1, 5, 3)},
            strict=False,
        ),
        refused("rank_2", "Tensors without batch and head axis")(
            "rank", "twin_plain", "All tensors lack two axes.", {name: array[0, 0] for name, array in plain.items()}
        ),
        refused("values_of_one_entry", "One batch entry of values for three of queries and keys")(
            "batch", "twin_plain", "Query and key have batch 3; the value has batch 1.", {"value": plain["value"][:1]}
        ),
        refused("grouped_two_over_three", "A number of two query heads over three")(
            "grouped",
            "twin_grouped",
            "There are fewer query heads than key heads.",
            {
                "query": of_shape("two", 1, 2, 4, 2),
                "grad_output": of_shape("of_two", 1, 2, 4, 2),
                "key": of_shape("three_keys", 1, 3, 5, 2),
                "value": of_shape("three_values", 1, 3, 5, 2),
            },
            strict=False,
        ),
        refused("width_of_queries", "A query of three features for keys of two")(
            "width",
            "twin_plain",
            "The queries have width 3, the keys width 2.",
            {"query": of_shape("wide", 3, 1, 4, 3)},
            strict=False,
        ),
        refused("batch_of_one", "One batch entry of keys for three of queries, and values likewise")(
            "batch",
            "twin_plain",
            "The query has batch 3; key and value have batch 1.",
            {name: plain[name][:1] for name in ("key", "value")},
        ),
        refused("grouped_four_over_three", "A number of four query heads over three")(
            "grouped",
            "twin_grouped",
            "Four heads cannot share three.",
            {
                "query": of_shape("four", 1, 4, 4, 2),
                "grad_output": of_shape("of_four", 1, 4, 4, 2),
                "key": of_shape("three", 1, 3, 5, 2),
                "value": of_shape("of_three", 1, 3, 5, 2),
            },
            strict=False,
        ),
        refused("fewer_values", "A number of four values for five keys")(
            "length",
            "twin_plain",
            "There are five keys and four values.",
            {"value": plain["value"][:, :, :4]},
            strict=False,
        ),
        refused("key_length_of_six", "A length of six of five keys")(
            "length", "twin_lengths", "The second key length is 6, and there are five keys.", {"key_lengths": [5, 6, 3]}
        ),
        refused("negative_query_length", "A length of minus one")(
            "length", "twin_lengths", "The second query length is -1.", {"query_lengths": [4, -1, 3]}
        ),
        refused("two_lengths", "A pair of key lengths for three batch entries")(
            "batch", "twin_lengths", "There are two lengths and three batch entries.", {"key_lengths": [5, 2]}
        ),
        refused("mask_of_four_columns", "A mask of four columns for five keys")(
            "mask_shape",
            "twin_mask",
            "The mask has four columns, and there are five keys.",
            {"mask": boolean_mask("backward/four_columns", (4, 4))},
            strict=False,
        ),
        refused("mask_of_three_rows", "A mask of three rows for four queries")(
            "mask_shape",
            "twin_mask",
            "The mask has three rows, and there are four queries.",
            {"mask": boolean_mask("backward/three_rows", (3, 5))},
            strict=False,
        ),
    )


def gradient_refusals() -> tuple[AuthoredCase, ...]:
    """Give what belongs to the results of the forward pass another shape."""
    wrong = (
        ("gradient_of_three", "A gradient of three outputs for four queries", "grad_output", (3, 1, 3, 1), False),
        ("gradient_width", "A gradient of three features for values of one", "grad_output", (3, 1, 4, 3), False),
        ("gradient_of_one_entry", "A gradient of one batch entry for three", "grad_output", (1, 1, 4, 1), True),
        ("grad_logsumexp_of_three", "A gradient of three logsumexp for four", "grad_logsumexp", (3, 1, 3), False),
        ("grad_logsumexp_of_five", "A gradient of five logsumexp for four", "grad_logsumexp", (3, 1, 5), False),
    )  # fmt: skip
    return tuple(
        refused(name, title)(
            "gradient_shape",
            "twin_plain",
            f"The {tensor} has the shape {shape}.",
            {tensor: of_shape(name, *shape)},
            strict=strict,
        )
        for name, title, tensor, shape, strict in wrong
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the refusals and their twins."""
    return (*TWINS, *shape_refusals(), *gradient_refusals())

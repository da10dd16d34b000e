"""Inputs that make no sense, each beside a valid counterpart: ranks, sizes, lengths and masks that do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import Sizes, boolean_mask, booleans, float_mask, floats
from attnspec_authoring.recipes.attention.backward.gradients import BACKWARD, PROFILE, gradients
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, Rejects, Source, headed, table
from attnspec_authoring.recipes.generator import grid

if TYPE_CHECKING:
    from collections.abc import Mapping

STRICT = ("input_checks", "strict")
_AXES_OF_SCORES = 4
SIZES = Sizes(3, 1, 1, 4, 5, 2, 1)
COUNTERPARTS = (
    gradients("twin_plain", "Valid twin: gradient, query, key and value")(SIZES, with_grad_logsumexp=True),
    gradients("twin_grouped", "Valid twin: six query heads over two")(Sizes(1, 6, 2, 4, 5, 2)),
    gradients("twin_mask", "Valid twin: a Boolean mask")(SIZES, mask=booleans(*SIZES.mask)),
    gradients("twin_lengths", "Valid twin: lengths")(SIZES, key_lengths=[5, 2, 3], query_lengths=[4, 1, 3]),
)
_INPUTS = {counterpart.id.partition("/")[2]: counterpart.inputs for counterpart in COUNTERPARTS}


@headed
def refused(
    name: str,
    title: str,
    clause: str,
    counterpart: str,
    reason: str,
    replaced: Mapping[str, Any],
    *,
    strict: bool = True,
    revision: int = 1,
    counterparts: Mapping[str, Mapping[str, Any]] | None = None,
) -> AuthoredCase:
    """Make a case that must be refused: its counterpart, some inputs replaced; by all, or by who checks strictly."""
    inputs = {
        **(counterparts or _INPUTS)[counterpart],
        **{tensor: np.asarray(array) for tensor, array in replaced.items()},
    }
    return AuthoredCase(
        id=f"{PROFILE}/rejects_{name}",
        title=f"Gradients: {title} {'are' if title.endswith('s') else 'is'} refused",
        operation=BACKWARD.name,
        clauses=(f"{BACKWARD.short_name}.rejects.{clause}",),
        source=Source(section=f"made for the profile {PROFILE}"),
        inputs=inputs,
        outputs=BACKWARD.outputs[:1],
        dtypes=EVERY_DTYPE,
        rejects=Rejects(reason, f"{PROFILE}/{counterpart}", STRICT if strict else None),
        revision=revision,
    )


def of_shape(name: str, *shape: int) -> Any:
    """Draw a tensor whose shape does not fit."""
    return grid(f"backward/rejects/{name}", shape)


def shape_refusals() -> tuple[AuthoredCase, ...]:
    """Ranks, widths, batches, heads, lengths and masks."""
    case = table(refused, strict=False)
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
        case("width_of_keys", "A key of three features for queries of two")(
            "width", "twin_plain", "The queries have width 2, the keys width 3.", {"key": of_shape("width", 3, 1, 5, 3)}
        ),
        refused("rank_2", "Tensors without batch and head axis")(
            "rank", "twin_plain", "All tensors lack two axes.", {name: array[0, 0] for name, array in plain.items()}
        ),
        refused("values_of_one_entry", "One batch entry of values for three of queries and keys")(
            "batch", "twin_plain", "Query and key have batch 3; the value has batch 1.", {"value": plain["value"][:1]}
        ),
        case("grouped_two_over_three", "A number of two query heads over three")(
            "grouped",
            "twin_grouped",
            "There are fewer query heads than key heads.",
            {
                "query": of_shape("two", 1, 2, 4, 2),
                "grad_output": of_shape("of_two", 1, 2, 4, 2),
                "key": of_shape("three_keys", 1, 3, 5, 2),
                "value": of_shape("three_values", 1, 3, 5, 2),
            },
        ),
        case("width_of_queries", "A query of three features for keys of two")(
            "width",
            "twin_plain",
            "The queries have width 3, the keys width 2.",
            {"query": of_shape("wide", 3, 1, 4, 3)},
        ),
        refused("batch_of_one", "One batch entry of keys for three of queries, and values likewise")(
            "batch",
            "twin_plain",
            "The query has batch 3; key and value have batch 1.",
            {name: plain[name][:1] for name in ("key", "value")},
        ),
        case("grouped_four_over_three", "A number of four query heads over three")(
            "grouped",
            "twin_grouped",
            "Four heads cannot share three.",
            {
                "query": of_shape("four", 1, 4, 4, 2),
                "grad_output": of_shape("of_four", 1, 4, 4, 2),
                "key": of_shape("three", 1, 3, 5, 2),
                "value": of_shape("of_three", 1, 3, 5, 2),
            },
        ),
        case("fewer_values", "A number of four values for five keys")(
            "length", "twin_plain", "There are five keys and four values.", {"value": plain["value"][:, :, :4]}
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
        case("mask_of_four_columns", "A mask of four columns for five keys")(
            "mask_shape",
            "twin_mask",
            "The mask has four columns, and there are five keys.",
            {"mask": boolean_mask("backward/four_columns", (4, 4))},
        ),
        case("mask_of_three_rows", "A mask of three rows for four queries")(
            "mask_shape",
            "twin_mask",
            "The mask has three rows, and there are four queries.",
            {"mask": boolean_mask("backward/three_rows", (3, 5))},
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


COUNTERPART = gradients("twin_heads", "Valid twin: two heads, two features of values, a gradient of the logsumexp")(
    Sizes(3, 2, 2, 4, 5, 2, 2), with_grad_logsumexp=True
)
FLOAT_COUNTERPART = gradients("twin_float_mask", "Valid twin: a float mask")(
    Sizes(3, 4, 2, 4, 5, 1, 1), mask=floats(4, 4, 5)
)
"""More query heads than key heads, so that a mask of the key heads is another one."""
_INPUTS_OF_MORE = {
    counterpart.id.partition("/")[2]: counterpart.inputs
    for counterpart in (*COUNTERPARTS, COUNTERPART, FLOAT_COUNTERPART)
}
_MATRICES = ("grad_output", "query", "key", "value")

SHAPES: tuple[tuple[str, str, str, str, tuple[int, ...], bool], ...] = (
    ("key_of_one_feature", "A key of one feature for queries of two", "width", "key", (3, 2, 5, 1), True),
    ("query_of_one_feature", "A query of one feature for keys of two", "width", "query", (3, 2, 4, 1), True),
    ("keys_of_one_entry", "A single batch entry of keys for three", "batch", "key", (1, 2, 5, 2), True),
    ("keys_of_two_entries", "Keys of two batch entries", "batch", "key", (2, 2, 5, 2), True),
    ("values_of_two_entries", "Values of two batch entries", "batch", "value", (2, 2, 5, 2), True),
    ("values_of_four_entries", "Values of four batch entries", "batch", "value", (4, 2, 5, 2), True),
    ("keys_of_four_entries", "Keys of four batch entries", "batch", "key", (4, 2, 5, 2), True),
    ("one_head_of_values", "A single head of values for two of keys", "grouped", "value", (3, 1, 5, 2), True),
    ("one_head_of_keys", "A single head of keys for two of values", "grouped", "key", (3, 1, 5, 2), True),
    ("four_heads_of_values", "Values of four heads for keys of two", "grouped", "value", (3, 4, 5, 2), True),
    ("three_heads_of_keys", "Keys of three heads for two queries", "grouped", "key", (3, 3, 5, 2), False),
    ("six_values", "A number of six values for five keys", "length", "value", (3, 2, 6, 2), True),
    ("one_value", "A single value for five keys", "length", "value", (3, 2, 1, 2), True),
    ("one_token_of_keys", "A single key for five values", "length", "key", (3, 2, 1, 2), True),
    ("ten_values", "A number of ten values for five keys", "length", "value", (3, 2, 10, 2), True),
)
"""Name, title, clause, input, shape, and whether those who check little may repeat or cut it."""

GRADIENTS: tuple[tuple[str, str, str, tuple[int, ...], bool], ...] = (
    ("gradient_of_one_head", "A gradient of one head for two", "grad_output", (3, 1, 4, 2), True),
    ("gradient_of_four_heads", "A gradient of four heads for two", "grad_output", (3, 4, 4, 2), True),
    ("gradient_of_one_query", "A gradient of one query for four", "grad_output", (3, 2, 1, 2), True),
    ("gradient_of_five_queries", "A gradient of five queries for four", "grad_output", (3, 2, 5, 2), True),
    ("gradient_of_one_feature", "A gradient of one feature for two", "grad_output", (3, 2, 4, 1), True),
    ("gradient_of_three_features", "A gradient of three features for two", "grad_output", (3, 2, 4, 3), True),
    ("gradient_of_two_entries", "A gradient of two batch entries for three", "grad_output", (2, 2, 4, 2), True),
    ("gradient_of_four_entries", "A gradient of four batch entries for three", "grad_output", (4, 2, 4, 2), True),
    ("gradient_tokens_first", "A gradient with tokens before heads", "grad_output", (3, 4, 2, 2), True),
    ("gradient_without_heads", "A gradient without an axis of heads", "grad_output", (3, 4, 2), True),
    ("gradient_without_entries", "A gradient without an axis of entries", "grad_output", (2, 4, 2), True),
    ("gradient_of_rank_5", "A gradient of five axes", "grad_output", (1, 3, 2, 4, 2), True),
    ("gradient_joined", "A gradient whose heads are joined", "grad_output", (3, 4, 4), True),
    ("grad_logsumexp_of_one_entry", "A logsumexp gradient of one entry", "grad_logsumexp", (1, 2, 4), True),
    ("grad_logsumexp_of_two_entries", "A logsumexp gradient of two entries", "grad_logsumexp", (2, 2, 4), True),
    ("grad_logsumexp_of_one_head", "A logsumexp gradient of one head", "grad_logsumexp", (3, 1, 4), True),
    ("grad_logsumexp_of_four_heads", "A logsumexp gradient of four heads", "grad_logsumexp", (3, 4, 4), True),
    ("grad_logsumexp_of_one_query", "A logsumexp gradient of one query", "grad_logsumexp", (3, 2, 1), True),
    ("grad_logsumexp_column", "A logsumexp gradient with a fourth axis", "grad_logsumexp", (3, 2, 4, 1), True),
    ("grad_logsumexp_transposed", "A logsumexp gradient with tokens first", "grad_logsumexp", (3, 4, 2), True),
    ("grad_logsumexp_without_heads", "A logsumexp gradient without heads", "grad_logsumexp", (3, 4), True),
    ("grad_logsumexp_without_entries", "A logsumexp gradient without entries", "grad_logsumexp", (2, 4), True),
)

LENGTHS: tuple[tuple[str, str, str, str, list[int]], ...] = (
    ("one_key_length", "A single key length for three batch entries", "batch", "key_lengths", [3]),
    ("four_key_lengths", "A row of four key lengths for three batch entries", "batch", "key_lengths", [5, 2, 3, 4]),
    ("one_query_length", "A single query length for three batch entries", "batch", "query_lengths", [3]),
    ("two_query_lengths", "A pair of query lengths for three batch entries", "batch", "query_lengths", [4, 1]),
    ("four_query_lengths", "A row of four query lengths for three entries", "batch", "query_lengths", [4, 1, 3, 2]),
    ("first_key_length", "A first key length of six of five", "length", "key_lengths", [6, 2, 3]),
    ("last_key_length", "A last key length of six of five", "length", "key_lengths", [5, 2, 6]),
    ("far_key_length", "A key length of 261, five to a byte", "length", "key_lengths", [5, 261, 3]),
    ("negative_key_length", "A key length of minus one", "length", "key_lengths", [5, -1, 3]),
    ("first_negative_key_length", "A first key length of minus two", "length", "key_lengths", [-2, 5, 3]),
    ("query_length_of_five", "A query length of five of four", "length", "query_lengths", [4, 1, 5]),
    ("first_query_length", "A first query length of five of four", "length", "query_lengths", [5, 1, 3]),
    ("far_query_length", "A query length of 260, four to a byte", "length", "query_lengths", [4, 260, 3]),
    ("last_negative_query_length", "A last query length of minus one", "length", "query_lengths", [4, 1, -1]),
)

MASKS: tuple[tuple[str, str, str, tuple[int, ...]], ...] = (
    ("mask_of_one_column", "A mask of one column for five keys", "twin_mask", (4, 1)),
    ("mask_of_one_number", "A mask of one number for five keys", "twin_mask", (1, 1)),
    ("mask_of_six_columns", "A mask of six columns for five keys", "twin_mask", (4, 6)),
    ("mask_of_ten_columns", "A mask of ten columns for five keys", "twin_mask", (4, 10)),
    ("mask_of_five_rows", "A mask of five rows for four queries", "twin_mask", (5, 5)),
    ("mask_of_eight_rows", "A mask of eight rows for four queries", "twin_mask", (8, 5)),
    ("mask_of_two_heads", "A mask of two heads for one", "twin_mask", (2, 4, 5)),
    ("mask_of_four_entries", "A mask of four batch entries for three", "twin_mask", (4, 1, 4, 5)),
    ("mask_of_rank_5", "A mask of five axes", "twin_mask", (1, 1, 1, 4, 5)),
    ("mask_transposed", "A mask with a row for each key", "twin_mask", (5, 4)),
    ("float_mask_of_one_column", "A float mask of one column for five keys", "twin_float_mask", (3, 4, 4, 1)),
    ("float_mask_column", "A float mask of one shared column", "twin_float_mask", (4, 1)),
    ("float_mask_of_four_columns", "A float mask of four columns for five keys", "twin_float_mask", (3, 4, 4, 4)),
    ("float_mask_of_six_columns", "A float mask of six columns for five keys", "twin_float_mask", (4, 6)),
    ("float_mask_of_five_rows", "A float mask of five rows for four queries", "twin_float_mask", (4, 5, 5)),
    ("float_mask_of_key_heads", "A float mask of the two key heads", "twin_float_mask", (3, 2, 4, 5)),
    ("float_mask_of_two_heads", "A float mask of two heads for four", "twin_float_mask", (2, 4, 5)),
    ("float_mask_of_eight_heads", "A float mask of eight heads for four", "twin_float_mask", (8, 4, 5)),
    ("float_mask_of_two_entries", "A float mask of two batch entries for three", "twin_float_mask", (2, 1, 4, 5)),
    ("float_mask_of_six_entries", "A float mask of six batch entries for three", "twin_float_mask", (6, 1, 1, 5)),
)


def shape_misfits() -> tuple[AuthoredCase, ...]:
    """Replace one of query, key and value."""
    case = table(refused, counterparts=_INPUTS_OF_MORE)
    plain = _INPUTS_OF_MORE["twin_heads"]
    matrices: dict[str, Any] = {name: plain[name] for name in (*_MATRICES, "grad_logsumexp")}
    return (
        *(
            case(name, title)(
                clause,
                "twin_heads",
                f"The {tensor} has the shape {shape}.",
                {tensor: of_shape(name, *shape)},
                strict=strict,
            )
            for name, title, clause, tensor, shape, strict in SHAPES
        ),
        case("rank_5", "Tensors of five axes")(
            "rank",
            "twin_heads",
            "All tensors have an axis too many.",
            {name: array[np.newaxis] for name, array in matrices.items()},
        ),
        *(
            case(f"rank_3_of_{tensor}", f"A {tensor} without a batch axis beside others with one")(
                "rank", "twin_heads", f"The {tensor} lacks an axis.", {tensor: plain[tensor][0]}
            )
            for tensor in ("query", "key", "value")
        ),
        case("batch_of_one_query", "A query of one batch entry, and its gradients, for three of keys")(
            "batch",
            "twin_heads",
            "The query has batch 1; key and value have batch 3.",
            {name: plain[name][:1] for name in ("query", "grad_output", "grad_logsumexp")},
        ),
        *(
            case(f"grouped_{name}", f"A number of {name.replace('_', ' ')} heads")(
                "grouped",
                "twin_grouped",
                "The query heads are no multiple of the key heads.",
                {
                    **{tensor: of_shape(f"{name}/{tensor}", 1, heads, 4, 2) for tensor in ("query", "grad_output")},
                    **{tensor: of_shape(f"{name}/{tensor}", 1, shared, 5, 2) for tensor in ("key", "value")},
                },
                strict=shared != 2,
            )
            for name, heads, shared in (("five_over_two", 5, 2), ("seven_over_two", 7, 2), ("one_over_two", 1, 2))
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        # Return the refusals and their counterparts.
        *COUNTERPARTS,
        *shape_refusals(),
        *gradient_refusals(),
        # Return the refusals, and the counterparts that the others do not have.
        COUNTERPART,
        FLOAT_COUNTERPART,
        *shape_misfits(),
        *(
            refused(name, title)(
                "gradient_shape",
                "twin_heads",
                f"The {tensor} has the shape {shape}.",
                {tensor: of_shape(name, *shape)},
                strict=strict,
                counterparts=_INPUTS_OF_MORE,
            )
            for name, title, tensor, shape, strict in GRADIENTS
        ),
        *(
            refused(name, title)(clause, "twin_lengths", f"The {tensor} are {numbers}.", {tensor: numbers})
            for name, title, clause, tensor, numbers in LENGTHS
        ),
        *(
            refused(name, title)(
                "mask_shape",
                counterpart,
                f"The mask has the shape {shape}.",
                {"mask": (boolean_mask if counterpart == "twin_mask" else float_mask)(f"backward/{name}", shape)},
                # The rules of NumPy repeat a single column, and scores to a mask of five axes.
                strict=shape[-1] == 1 or len(shape) > _AXES_OF_SCORES,
                revision=2 if len(shape) > _AXES_OF_SCORES else 1,
                counterparts=_INPUTS_OF_MORE,
            )
            for name, title, counterpart, shape in MASKS
        ),
    )

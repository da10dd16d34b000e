"""Attention with projections, of one head and of several, and random weight matrices to start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.attention import boolean_mask, float_mask, made_for
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, headed, reported, table
from attnspec_authoring.recipes.generator import grid, require_exact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

QUARTER = 0.25
"""Factor of drawn weight matrices: with it scores stay so small that every key keeps a share."""


def drawn(case_id: str, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """Draw inputs by name; weight matrices and biases are made smaller than tokens."""
    return {
        name: require_exact(
            grid(f"{case_id}/{name}", shape) * (QUARTER if name.startswith(("w_", "b_")) else 1.0),
            EVERY_DTYPE,
            named=f"{case_id}, {name}",
        )
        for name, shape in shapes.items()
    }


@headed
def single_head(
    name: str,
    title: str,
    tokens: int,
    widths: tuple[int, int, int, int | None],
    *,
    outputs: tuple[str, ...] = ("output", "weights"),
    profile: str = "layout",
    replaced: Mapping[str, NDArray[Any]] | None = None,
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    memory_order: Mapping[str, str] | None = None,
    changed_argument: ChangedArgument | None = None,
    revision: int = 1,
    **attributes: Any,
) -> AuthoredCase:
    """Make a case of single-head attention; the widths are those of tokens, keys, values and output.

    What is `replaced` goes before what is drawn.
    """
    case_id = f"{profile}/single_head_{name}"
    width, of_keys, of_values, of_output = widths
    shapes: dict[str, tuple[int, ...]] = {
        "x": (tokens, width),
        "w_query": (width, of_keys),
        "w_key": (width, of_keys),
        "w_value": (width, of_values),
    }
    if of_output is not None:
        shapes["w_output"] = (of_values, of_output)
    clauses = [
        "projections",
        "scores",
        "scale.explicit" if attributes else "scale.default",
        "softmax.keys",
        "output",
        *(["output_projection"] if of_output is not None else []),
    ]
    return AuthoredCase(
        id=case_id,
        title=f"Single head: {title}",
        operation="single_head_attention",
        clauses=tuple(f"single_head.{clause}" for clause in clauses),
        source=made_for(profile),
        inputs={**drawn(case_id, shapes), **(replaced or {})},
        attributes=attributes,
        outputs=outputs,
        dtypes=dtypes,
        memory_order=memory_order or {},
        changed_argument=changed_argument,
        revision=revision,
    )


BIASES = ("b_query", "b_key", "b_value", "b_output")


@headed
def multi_head(
    name: str,
    title: str,
    lengths: tuple[int, int, int] = (1, 4, 5),
    *,
    width: int = 6,
    num_heads: int = 3,
    biases: tuple[str, ...] = (),
    clauses: tuple[str, ...] = (),
    report: str | None = None,
    mask: NDArray[Any] | None = None,
    outputs: tuple[str, ...] = ("output",),
    profile: str = "layout",
    replaced: Mapping[str, NDArray[Any]] | None = None,
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    memory_order: Mapping[str, str] | None = None,
    conventions: tuple[str, ...] = (),
    changed_argument: ChangedArgument | None = None,
    revision: int = 1,
    **attributes: Any,
) -> AuthoredCase:
    """Make a case of multi-head attention; the lengths are those of batch, queries and keys.

    What is `replaced` goes before what is drawn.
    """
    case_id = f"{profile}/multi_head_{name}"
    batch, queries, keys = lengths
    shapes: dict[str, tuple[int, ...]] = {
        "query": (batch, queries, width),
        "key": (batch, keys, width),
        "value": (batch, keys, width),
        **dict.fromkeys(("w_query", "w_key", "w_value", "w_output"), (width, width)),
        **dict.fromkeys(biases, (width,)),
    }
    base = ["projections", "split", "scale.explicit" if "scale" in attributes else "scale.default", "softmax.keys"]
    base += ["combine", "output_projection", *(["biases"] if biases else []), *(["mask"] if mask is not None else [])]
    base += [*(["causal"] if attributes.get("is_causal") else []), *(["weights"] if "weights" in outputs else [])]
    return AuthoredCase(
        id=case_id,
        title=f"Multi-head: {title}",
        operation="multi_head_attention",
        clauses=tuple(dict.fromkeys((*clauses, *(f"multi_head.{clause}" for clause in base)))),
        source=made_for(profile) if report is None else reported(report),
        inputs={**drawn(case_id, shapes), **({} if mask is None else {"mask": mask}), **(replaced or {})},
        attributes={"num_heads": num_heads, **attributes},
        outputs=outputs,
        dtypes=dtypes,
        memory_order=memory_order or {},
        conventions=conventions,
        changed_argument=changed_argument,
        revision=revision,
    )


def multi_head_cases() -> tuple[AuthoredCase, ...]:
    """Hold heads, biases, masks of every rank, causality and scales."""
    case = table(multi_head, lengths=(2, 4, 5))
    masks = {
        "rank_2": (4, 5),
        "rank_3": (3, 4, 5),
        "rank_4": (2, 3, 4, 5),
        "rank_4_batch": (2, 1, 4, 5),
        "rank_4_row": (2, 1, 1, 5),
    }
    with_weights = ("output", "weights")
    # No bias of keys: it adds the same to every score of a query, which softmax does not see.
    changed_biases = ("b_value", "b_output")
    return (
        case("plain", "three heads of two features")(
            report="reczoo/FuxiCTR/issues/30", changed_argument=ChangedArgument("query", reversed=True), revision=2
        ),
        case("plain_other_values", "three heads of two features, other values")(
            changed_argument=ChangedArgument("key", reversed=True), revision=2
        ),
        case("seven_heads_mask_of_heads", "a mask for each of seven heads of two features")(
            width=14,
            num_heads=7,
            mask=boolean_mask("layout/multi_head_seven_heads_mask_of_heads", (7, 4, 5)),
            outputs=with_weights,
        ),
        case("seven_heads_mask_of_entries_and_heads", "a float mask for each of seven heads of two batch entries")(
            width=14,
            num_heads=7,
            mask=float_mask("layout/multi_head_seven_heads_mask_of_entries_and_heads", (2, 7, 4, 5)),
        ),
        multi_head("width_40", "two heads of twenty features")((2, 3, 4), width=40, num_heads=2),
        multi_head("width_51", "three heads of seventeen features")((1, 3, 4), width=51),
        multi_head("two_heads", "two heads of three features")(
            num_heads=2, changed_argument=ChangedArgument("num_heads", 3), revision=2
        ),
        multi_head("one_head", "one head of six features")(
            num_heads=1, changed_argument=ChangedArgument("value", reversed=True), revision=2
        ),
        multi_head("heads_of_one", "six heads of one feature")(
            num_heads=6, changed_argument=ChangedArgument("w_query", reversed=True), revision=2
        ),
        multi_head("one_feature", "one head of one feature")((1, 2, 3), width=1, num_heads=1),
        multi_head("odd_width", "three heads of three features")(
            width=9, num_heads=3, changed_argument=ChangedArgument("w_key", reversed=True), revision=2
        ),
        multi_head("weights", "the weights of each head, not their mean")(
            outputs=with_weights, changed_argument=ChangedArgument("w_value", reversed=True), revision=2
        ),
        multi_head("one_query", "one query")(
            (2, 1, 5), outputs=with_weights, changed_argument=ChangedArgument("w_output", reversed=True), revision=2
        ),
        multi_head("biases", "biases of all four projections")(
            biases=BIASES, changed_argument=ChangedArgument("b_query", reversed=True), revision=2
        ),
        *(
            multi_head(f"only_{bias}", f"no bias but {bias}")(
                biases=(bias,),
                outputs=with_weights,
                width=4,
                num_heads=2,
                changed_argument=ChangedArgument(bias, reversed=True) if bias in changed_biases else None,
                revision=2 if bias in changed_biases else 1,
            )
            for bias in BIASES
        ),
        *(
            case(f"boolean_mask_{name}", f"A Boolean mask of shape {shape}")(
                mask=boolean_mask(f"layout/multi_head_boolean_{name}", shape),
                report="pytorch/pytorch/issues/97409" if name == "rank_2" else None,
                changed_argument=ChangedArgument("mask", reversed=True) if name == "rank_2" else None,
                revision=2 if name == "rank_2" else 1,
            )
            for name, shape in masks.items()
        ),
        *(
            case(f"float_mask_{name}", f"a float mask of shape {shape}")(
                mask=float_mask(f"layout/multi_head_float_{name}", shape)
            )
            for name, shape in masks.items()
        ),
        multi_head("causal", "causal, as many queries as keys")(
            (1, 5, 5),
            is_causal=True,
            outputs=with_weights,
            changed_argument=ChangedArgument("is_causal", False),
            revision=2,
        ),
        multi_head(
            "causal_and_mask", "causal with a mask of padded keys, and weights: one must not switch the other off"
        )(
            (2, 5, 5),
            clauses=("multi_head.causal", "multi_head.mask"),
            report="keras-team/keras/issues/23038",
            is_causal=True,
            mask=(np.arange(5) < np.array([5, 3])[:, np.newaxis]).reshape(2, 1, 1, 5),
            outputs=with_weights,
        ),
        multi_head("causal_and_mask_of_heads", "causal with a mask for each head, as many heads as batch entries")(
            (2, 3, 3),
            width=4,
            num_heads=2,
            is_causal=True,
            mask=np.array([[[1, 0, 1], [1, 1, 1], [0, 1, 1]], [[1, 1, 1], [0, 1, 1], [1, 1, 0]]], dtype=bool),
        ),
        case("causal_and_float_mask_rank_2", "causal with a float mask of shape (4, 5)")(
            report="microsoft/onnxruntime/issues/14363",
            is_causal=True,
            mask=float_mask("layout/multi_head_causal_float_rank_2", (4, 5), hides=False),
        ),
        case("causal_and_float_mask_rank_3", "causal with a float mask of shape (3, 4, 5) and a stated scale")(
            report="NVIDIA/Megatron-LM/pull/3698",
            is_causal=True,
            mask=float_mask("layout/multi_head_causal_float_rank_3", (3, 4, 5), hides=False),
            scale=-2.0,
        ),
        multi_head("causal_and_biases", "causal with biases")(
            (1, 5, 5), width=4, num_heads=2, biases=BIASES, is_causal=True
        ),
        multi_head("scale", "a stated scale")(scale=0.25, changed_argument=ChangedArgument("scale", 2.0), revision=2),
        multi_head("scale_zero", "the scale zero")(scale=0.0),
        multi_head("scale_negative", "a negative scale")(scale=-1.0),
    )


CLAUSES = ("shape", "mean", "standard_deviation", "distribution", "tails", "seed")


def initialisation_cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of Glorot normal weights."""
    wide = {"fan_in": 32, "fan_out": 128}
    return (
        *(_from_zero(rows, columns) for rows, columns in ((72, 64), (48, 96))),
        *(_of_odd_size(rows, columns) for rows, columns in ((65, 65), (4097, 1), (1, 4099))),
        AuthoredCase(
            id="layout/glorot_normal_wide",
            title="Glorot normal weights of a 32x128 matrix, seed 1",
            operation="glorot_normal",
            clauses=tuple(f"glorot_normal.{clause}" for clause in CLAUSES),
            source=made_for("layout"),
            attributes={**wide, "seed": 1},
            dtypes=(),
            properties={"distribution": "normal", **wide},
            changed_argument=ChangedArgument("fan_out", 129),
            revision=2,
        ),
    )


def _of_odd_size(rows: int, columns: int) -> AuthoredCase:
    """Make a case of an odd number of elements, which what draws two at a time does not fill."""
    return _weights(f"odd_{rows}_{columns}", rows, columns, "an odd number of elements", 3, None)


def _from_zero(rows: int, columns: int) -> AuthoredCase:
    """Make a case of the seed 0, which is a number like any other."""
    return _weights(f"seed_zero_{rows}", rows, columns, "a seed of 0 is a seed", 0, ChangedArgument("seed", 1))


def _weights(
    name: str, rows: int, columns: int, about: str, seed: int, changed: ChangedArgument | None
) -> AuthoredCase:
    """Make a case of normal weights, which is about one thing."""
    shape = {"fan_in": rows, "fan_out": columns}
    return AuthoredCase(
        id=f"layout/glorot_normal_{name}",
        title=f"Glorot normal weights of a {rows}x{columns} matrix: {about}",
        operation="glorot_normal",
        clauses=tuple(f"glorot_normal.{clause}" for clause in CLAUSES),
        source=made_for("layout"),
        attributes={**shape, "seed": seed},
        dtypes=(),
        properties={"distribution": "normal", **shape},
        changed_argument=changed,
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        # Hold unequal widths of tokens, keys, values and output, all scales, and equal shapes with unequal values.
        single_head("plain", "four tokens of five features, keys of three, values of two")(
            4, (5, 3, 2, None), changed_argument=ChangedArgument("x", reversed=True), revision=2
        ),
        single_head("plain_other_values", "the same shapes with other values")(
            4, (5, 3, 2, None), changed_argument=ChangedArgument("w_query", reversed=True), revision=2
        ),
        single_head("output", "with an output matrix that widens")(
            4, (5, 3, 2, 6), changed_argument=ChangedArgument("w_output", reversed=True), revision=2
        ),
        single_head("square", "all widths equal, as an equal number of tokens")(
            4, (4, 4, 4, 4), changed_argument=ChangedArgument("w_key", reversed=True), revision=2
        ),
        single_head("one_token", "one token")(1, (5, 3, 2, None)),
        single_head("keys_of_19", "keys of nineteen features, which no tile divides")(2, (3, 19, 2, None)),
        single_head("keys_of_one", "keys of one feature")(3, (2, 1, 2, None)),
        single_head("more_tokens", "seven tokens of two features")(
            7, (2, 3, 4, None), changed_argument=ChangedArgument("w_value", reversed=True), revision=2
        ),
        single_head("scale", "a stated scale")(
            4, (5, 3, 2, None), scale=0.25, changed_argument=ChangedArgument("scale", 2.0), revision=2
        ),
        single_head("scale_zero", "the scale zero: every token gets the mean")(4, (5, 3, 2, None), scale=0.0),
        single_head("scale_negative", "a negative scale")(4, (5, 3, 2, None), scale=-1.0),
        *multi_head_cases(),
        *initialisation_cases(),
    )

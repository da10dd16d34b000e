"""Document 002: the multi-head module, as the comments, shapes and tests mean it, and what the document refuses.

Masks, the split into heads and back, the module of width 64 with 4 and 8 heads, the small demonstration,
and the initialisation. The document's code arrived with many operators altered (``spec/errata.md`` lists
them).

Each case names a valid counterpart that differs in nothing but what is wrong, so that an implementation which
refuses everything gains nothing by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.documents.document_002_one_head import (
    BATCH,
    DOCUMENT,
    HEAD_WIDTH,
    MODEL_WIDTH,
    SEED,
    SEQUENCE,
    causal_mask,
    demonstration_inputs,
    module_inputs,
    per_batch_masks,
    projections,
)
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, Rejects, Source, headed, row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

MULTI_HEAD_TEST = "test_multi_head_attention"

MULTI_HEAD_CLAUSES = (
    "multi_head.projections",
    "multi_head.split",
    "multi_head.scale.default",
    "multi_head.softmax.keys",
    "multi_head.combine",
    "multi_head.output_projection",
    "multi_head.weights",
)
MULTI_HEAD_ERRATA = (
    "E002.scale_multiplied",
    "E002.normaliser_multiplied",
    "E002.maximum_axis_lost",
    "E002.combine_heads_transposition",
    "E002.combine_heads_width",
)


def causal_mask_cases() -> tuple[AuthoredCase, ...]:
    """Hold the document's additive mask, its Boolean form, and the same shapes with the diagonal moved."""
    variants = (
        row("causal_mask_additive", "Additive causal mask for four tokens")({"query_length": 4, "additive": True}),
        row("causal_mask_additive_offset", "Additive causal mask for four tokens that stand one place later")(
            {"query_length": 4, "key_length": 4, "offset": 1, "additive": True}
        ),
        row("causal_mask_boolean", "Causal mask for four tokens, True where a key may be attended")(
            {"query_length": 4}
        ),
        row("causal_mask_boolean_last_two_queries", "Causal mask for the last two of four tokens")(
            {"query_length": 2, "key_length": 4, "offset": 2}
        ),
    )
    return tuple(
        AuthoredCase(
            id=f"documents/002/{name}",
            title=title,
            operation="causal_mask",
            clauses=(
                "causal_mask.definition",
                "causal_mask.shape",
                "causal_mask.additive" if attributes.get("additive") else "causal_mask.boolean",
            ),
            source=Source(DOCUMENT, "create_causal_mask"),
            attributes=attributes,
            dtypes=(),
            errata=("E002.causal_mask_inverted", "E002.causal_mask_kept_value"),
        )
        for name, title, attributes in variants
    )


def head_layout_cases() -> Iterator[AuthoredCase]:
    """Split (2,4,64) into four heads and combine them again, with two sets of numbers each."""
    # Whole numbers up to 2^9 = 512, each once: float16 holds them all, bfloat16 does not.
    ascending = np.arange(1.0, BATCH * SEQUENCE * MODEL_WIDTH + 1.0).reshape(BATCH, SEQUENCE, MODEL_WIDTH)
    descending = ascending[::-1, ::-1, ::-1]
    heads = 4
    for suffix, words, tokens in (("", "", ascending), ("_other_values", ", with other values", descending)):
        split = tokens.reshape(BATCH, SEQUENCE, heads, MODEL_WIDTH // heads).transpose(0, 2, 1, 3)
        yield from (
            AuthoredCase(
                id=f"documents/002/split_heads{suffix}",
                title=f"A width of 64 split into four heads of 16{words}",
                operation="split_heads",
                clauses=("split_heads.order", "split_heads.shape"),
                source=Source(DOCUMENT, "split_heads"),
                inputs={"x": tokens},
                attributes={"num_heads": heads},
                dtypes=("float64", "float32", "float16"),
            ),
            AuthoredCase(
                id=f"documents/002/combine_heads{suffix}",
                title=f"Four heads of 16 combined to a width of 64{words}",
                operation="combine_heads",
                clauses=("combine_heads.order", "combine_heads.shape"),
                source=Source(DOCUMENT, "combine_heads: the inverse of split_heads"),
                inputs={"x": split},
                dtypes=("float64", "float32", "float16"),
                errata=("E002.combine_heads_transposition", "E002.combine_heads_width"),
            ),
        )


@headed
def multi_head_case(  # noqa: D103
    name: str,
    title: str,
    section: str,
    *,
    inputs: dict[str, NDArray[Any]],
    attributes: dict[str, Any],
    clauses: tuple[str, ...] = MULTI_HEAD_CLAUSES,
    errata: tuple[str, ...] = (),
) -> AuthoredCase:
    return AuthoredCase(
        id=f"documents/002/{name}",
        title=title,
        operation="multi_head_attention",
        clauses=clauses,
        source=Source(DOCUMENT, section),
        inputs=inputs,
        attributes=attributes,
        outputs=("output", "weights"),
        dtypes=EVERY_DTYPE,
        errata=(*MULTI_HEAD_ERRATA, *errata),
    )


def wide_module_cases() -> tuple[AuthoredCase, ...]:
    """Hold the module of width 64: these are the largest files of the suite, so there are only three."""
    masked = (*MULTI_HEAD_CLAUSES, "multi_head.mask")
    return (
        multi_head_case(
            "module_four_heads_causal", "The module of width 64 with four heads and an additive causal mask"
        )(
            f"{MULTI_HEAD_TEST}, test 3",
            inputs={**module_inputs(SEED + 1), "mask": causal_mask()},
            attributes={"num_heads": 4},
            clauses=masked,
            errata=("E002.module_mask_shared", "E002.causal_mask_inverted"),
        ),
        multi_head_case(
            "module_eight_heads_per_batch_masks",
            "The module of width 64 with eight heads and an additive mask for each batch entry",
        )(
            f"{MULTI_HEAD_TEST}, different numbers of heads, with masks of shape (batch, seq_len, seq_len)",
            inputs={**module_inputs(SEED + 2), "mask": per_batch_masks()},
            attributes={"num_heads": 8},
            clauses=masked,
            errata=("E002.module_mask_per_batch",),
        ),
        multi_head_case(
            "module_four_heads_self_attention", "The module of width 64 with four heads, attending to its own input"
        )(
            f"{MULTI_HEAD_TEST}, test 5: self-attention (Q=K=V)",
            inputs=module_inputs(SEED + 3, itself=True),
            attributes={"num_heads": 4},
        ),
    )


def demonstration_cases() -> tuple[AuthoredCase, ...]:
    """Hold the demonstration at a width that its two heads divide, and variations of it."""
    section = "demonstrate_attention_properties"
    inputs = demonstration_inputs()
    explicit = tuple(name.replace("scale.default", "scale.explicit") for name in MULTI_HEAD_CLAUSES)
    return (
        multi_head_case(
            "demonstration", "The demonstration: three tokens of width 8, two heads, first and last key alike"
        )(section, inputs=inputs, attributes={"num_heads": 2}, errata=("E002.demonstration_sizes",)),
        multi_head_case("demonstration_other_values", "The demonstration with other numbers")(
            section, inputs=demonstration_inputs(SEED + 1), attributes={"num_heads": 2}
        ),
        multi_head_case("demonstration_causal", "The demonstration with the causal mask asked for by name")(
            f"{section}, with is_causal",
            inputs=inputs,
            attributes={"num_heads": 2, "is_causal": True},
            clauses=(*MULTI_HEAD_CLAUSES, "multi_head.causal"),
        ),
        multi_head_case("demonstration_explicit_scale", "The demonstration with its scores multiplied by 2")(
            f"{section}, with scale 2", inputs=inputs, attributes={"num_heads": 2, "scale": 2.0}, clauses=explicit
        ),
        multi_head_case("demonstration_one_head", "The demonstration with one head over a width of 7")(
            f"{section}, with its width of 7",
            inputs=module_inputs(SEED, width=7, batch=1, sequence=3),
            attributes={"num_heads": 1},
            errata=("E002.demonstration_sizes",),
        ),
    )


def glorot_cases() -> tuple[AuthoredCase, ...]:
    """Hold the initialisation, graded by its distribution: two seeds, and a matrix that is not square."""
    variants = (
        ("seed_42", "a 64x64 matrix, seed 42", MODEL_WIDTH, SEED, None),
        ("seed_7", "a 64x64 matrix, seed 7", MODEL_WIDTH, 7, ChangedArgument("seed", 8)),
        ("not_square", "a 64x192 matrix, seed 42", 3 * MODEL_WIDTH, SEED, ChangedArgument("fan_in", MODEL_WIDTH + 1)),
    )
    return tuple(
        AuthoredCase(
            id=f"documents/002/glorot_normal_{name}",
            title=f"Glorot normal weights of {words}",
            operation="glorot_normal",
            clauses=(
                "glorot_normal.shape",
                "glorot_normal.mean",
                "glorot_normal.standard_deviation",
                "glorot_normal.distribution",
                "glorot_normal.seed",
            ),
            source=Source(DOCUMENT, "init_attention_params"),
            attributes={"fan_in": MODEL_WIDTH, "fan_out": fan_out, "seed": seed},
            dtypes=(),
            properties={"distribution": "normal", "fan_in": MODEL_WIDTH, "fan_out": fan_out},
            errata=("E002.standard_deviation_zero", "E002.standard_deviation_applied"),
            changed_argument=changed_argument,
            revision=2 if changed_argument else 1,
        )
        for name, words, fan_out, seed, changed_argument in variants
    )


STRICT = ("input_checks", "strict")
UNMASKED = "documents/002/attention_unmasked"
MASKED = "documents/002/attention_causal_mask"
WEIGHTS = "scaled_dot_product_attention: check for NaN or infinity in the weights"


@headed
def refused(  # noqa: D103
    name: str,
    title: str,
    clause: str,
    section: str,
    *,
    inputs: dict[str, NDArray[Any]],
    rejects: Rejects,
    operation: str = "scaled_dot_product_attention",
    attributes: dict[str, Any] | None = None,
    dtypes: tuple[str, ...] = EVERY_DTYPE,
    errata: tuple[str, ...] = (),
    folder: str = "documents/002",
) -> AuthoredCase:
    return AuthoredCase(
        id=f"{folder}/{name}",
        title=title,
        operation=operation,
        clauses=(clause,),
        source=Source(DOCUMENT, section),
        inputs=inputs,
        attributes=attributes or {},
        dtypes=dtypes,
        rejects=rejects,
        errata=errata,
    )


def shape_refusals() -> tuple[AuthoredCase, ...]:
    """List ranks, lengths, widths, batches, groups and masks that do not fit together."""
    inputs = projections()
    query, key = inputs["query"], inputs["key"]
    checks = "scaled_dot_product_attention: input shape assertions"
    grouped = "documents/002/attention_grouped_heads"
    # Three query heads cannot share two key and value heads evenly.
    three_heads = np.concatenate([query, query[:1]]).reshape(1, 3, SEQUENCE, HEAD_WIDTH)
    two_heads = {name: inputs[name].reshape(1, 2, SEQUENCE, HEAD_WIDTH) for name in ("key", "value")}
    return (
        refused("refuses_query_of_rank_2", "A query without batch and head axes is refused")(
            "sdpa.rejects.rank",
            checks,
            inputs={**inputs, "query": query[0, 0]},
            rejects=Rejects("The query has rank 2 where 4 is required.", UNMASKED, STRICT),
            errata=("E002.input_ranks",),
        ),
        refused("refuses_value_shorter_than_key", "Values for three of four keys are refused")(
            "sdpa.rejects.length",
            checks,
            inputs={**inputs, "value": inputs["value"][:, :, :3]},
            rejects=Rejects("There are four keys and three values.", UNMASKED, STRICT),
            errata=("E002.key_value_length",),
        ),
        refused("refuses_key_narrower_than_query", "Keys that are narrower than the queries are refused")(
            "sdpa.rejects.width",
            checks,
            inputs={**inputs, "key": key[..., :7]},
            rejects=Rejects("The queries have width 8 and the keys have width 7.", UNMASKED),
        ),
        refused("refuses_batch_of_three_against_two", "Three queries' worth of batch against two of keys is refused")(
            "sdpa.rejects.batch",
            checks,
            inputs={**inputs, "query": np.concatenate([query, query[:1]])},
            rejects=Rejects("The query has batch 3; key and value have batch 2.", UNMASKED, STRICT),
        ),
        refused("refuses_mask_that_does_not_fit", "A mask with three rows for four queries is refused")(
            "sdpa.rejects.mask_shape",
            "scaled_dot_product_attention: mask shape assertion",
            inputs={**inputs, "mask": causal_mask()[:3]},
            rejects=Rejects("A mask of shape (3,4) does not broadcast to scores of shape (2,1,4,4).", MASKED),
        ),
        refused("refuses_three_heads_over_two", "Three query heads over two key and value heads are refused")(
            "sdpa.rejects.grouped",
            "scaled_dot_product_attention, with heads",
            inputs={"query": three_heads, **two_heads},
            rejects=Rejects("Three query heads are no multiple of two key and value heads.", grouped),
        ),
    )


def value_refusals() -> tuple[AuthoredCase, ...]:
    """List a mask whose weights come out as NaN."""
    inputs = projections()
    mask = causal_mask()
    mask[1, :] = -np.inf
    return (
        refused("refuses_fully_masked_row", "A mask that leaves one query without any key is refused")(
            "sdpa.fully_masked_row",
            WEIGHTS,
            inputs={**inputs, "mask": mask},
            rejects=Rejects("The second query may attend no key.", MASKED, ("fully_masked_row", "refuse")),
        ),
    )


def nan_in_query() -> AuthoredCase:
    """Refuse a query with a NaN, a case of the profile nonfinite, which takes it from here."""
    inputs = projections()
    query = inputs["query"].copy()
    query[0, 0, 1, 2] = np.nan
    return refused("document_002_refuses_nan_in_query", "A query with one NaN, which document 002 refuses")(
        "sdpa.nonfinite_input",
        WEIGHTS,
        inputs={**inputs, "query": query},
        rejects=Rejects("One element of the query is NaN.", UNMASKED, ("nonfinite_input", "refuse")),
        # No other profile holds a NaN: who suppresses it fails there alone.
        folder="nonfinite",
    )


def module_refusals() -> tuple[AuthoredCase, ...]:
    """List widths that the heads do not divide, and a query of the wrong rank."""
    section = "multi_head_attention: input validation"
    demonstration = "documents/002/demonstration"
    inputs = demonstration_inputs()
    return (
        refused("module_refuses_7_over_2", "Two heads over a width of 7 are refused by the module")(
            "multi_head.rejects.divisible",
            "demonstrate_attention_properties: d_model 7 with 2 heads",
            operation="multi_head_attention",
            inputs=module_inputs(42, width=7, batch=1, sequence=3),
            attributes={"num_heads": 2},
            rejects=Rejects("A width of 7 does not divide into two heads.", "documents/002/demonstration_one_head"),
            errata=("E002.demonstration_sizes", "E002.divisibility"),
        ),
        refused("split_refuses_63_over_4", "Four heads over a width of 63 are refused when splitting")(
            "split_heads.rejects.divisible",
            "test_multi_head_attention: d_model 63 with 4 heads",
            operation="split_heads",
            inputs={"x": np.ones((2, SEQUENCE, 63))},
            attributes={"num_heads": 4},
            dtypes=("float64", "float32", "float16"),
            rejects=Rejects("A width of 63 does not divide into four heads.", "documents/002/split_heads"),
            errata=("E002.test_model_width", "E002.divisibility"),
        ),
        refused("module_refuses_query_of_rank_2", "A query without a batch axis is refused by the module")(
            "multi_head.rejects.rank",
            section,
            operation="multi_head_attention",
            inputs={**inputs, "query": inputs["query"][0]},
            attributes={"num_heads": 2},
            rejects=Rejects("The query has rank 2 where 3 is required.", demonstration, STRICT),
            errata=("E002.module_input_ranks",),
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return all of them."""
    return (
        *causal_mask_cases(),
        *head_layout_cases(),
        *wide_module_cases(),
        *demonstration_cases(),
        *glorot_cases(),
        *shape_refusals(),
        *value_refusals(),
        *module_refusals(),
    )

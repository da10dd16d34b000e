"""Document 002: the multi-head module, as its comments, shapes and tests mean it.

Masks, the split into heads and back, the module of width 64 with 4 and 8 heads, the small demonstration,
and the initialisation. The document's code arrived with many operators altered (``spec/errata.md`` lists
them).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.cases import ChangedArgument
from attnspec_authoring.recipes.attention.documents.document_002_one_head import (
    BATCH,
    DOCUMENT,
    MODEL_WIDTH,
    SEED,
    SEQUENCE,
    causal_mask,
    demonstration_inputs,
    module_inputs,
    per_batch_masks,
)
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, Source, headed, row

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


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of document 002 that concern masks, several heads and the initialisation."""
    return (*causal_mask_cases(), *head_layout_cases(), *wide_module_cases(), *demonstration_cases(), *glorot_cases())

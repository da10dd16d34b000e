"""Document 002: what its module checks and refuses.

Each case names a valid twin that differs in nothing but what is wrong, so that an implementation which
refuses everything gains nothing by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.documents.document_002_one_head import (
    DOCUMENT,
    HEAD_WIDTH,
    SEQUENCE,
    causal_mask,
    demonstration_inputs,
    module_inputs,
    projections,
)
from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, Rejects, Source, headed

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    """Return every case that document 002 refuses, but for that of :func:`nan_in_query`."""
    return (*shape_refusals(), *value_refusals(), *module_refusals())

"""Document 002: its inputs, drawn as it draws them, and attention of one head.

Sizes and seed are those of the document's tests, as its comments and checks mean them: batch 2, sequence 4,
heads of width 8, a module of width 64, seed 42.

The document's code arrived with many operators altered (``spec/errata.md`` lists them). Its
three-dimensional arrays are compared with one head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.authoring import EVERY_DTYPE, AuthoredCase, Printed, Source, headed

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOCUMENT = "002_c44bbdfd43669549.txt"

BATCH = 2
SEQUENCE = 4
HEAD_WIDTH = 8
MODEL_WIDTH = 64
SEED = 42
HIDDEN = -np.inf


def normals(
    random: np.random.RandomState, *shape: int, spread: float = 1.0, steps: float = 32.0
) -> NDArray[np.float64]:
    """Draw normals of standard deviation `spread` and round them to multiples of 1/32, or of 1/`steps`.

    Below 8 in magnitude such multiples have at most eight significant bits, so they are exact in every dtype
    of the suite; and so coarse a grid hides the last bit of the C library's logarithm, through which legacy
    normals go.
    """
    rounded = np.round(random.normal(size=shape) * spread * steps) / steps
    assert np.all(np.abs(rounded) < 8.0), "a drawn number left the range in which multiples of 1/32 are exact"
    return rounded + 0.0  # no negative zeros, which read like an oversight in the files


def projections(seed: int = SEED) -> dict[str, NDArray[Any]]:
    """Draw query, key and value (2,1,4,8) in the document's order."""
    random = np.random.RandomState(seed)
    return {name: normals(random, BATCH, 1, SEQUENCE, HEAD_WIDTH) for name in ("query", "key", "value")}


def module_inputs(
    seed: int,
    *,
    width: int = MODEL_WIDTH,
    batch: int = BATCH,
    sequence: int = SEQUENCE,
    itself: bool = False,
    steps: float = 4.0,
) -> dict[str, NDArray[Any]]:
    """Draw the inputs (B,S,D) and the four weight matrices (D,D) of one module."""
    random = np.random.RandomState(seed)
    tokens = [normals(random, batch, sequence, width) for _ in range(1 if itself else 3)]
    query, key, value = tokens * 3 if itself else tokens
    spread = float(np.sqrt(1.0 / width))
    weights = {
        name: normals(random, width, width, spread=spread, steps=steps)
        for name in ("w_query", "w_key", "w_value", "w_output")
    }
    return {"query": query, "key": key, "value": value, **weights}


def causal_mask(length: int = SEQUENCE) -> NDArray[np.float64]:
    """Put zeros on and below the diagonal and minus infinity above it, as the document's docstring says."""
    return np.where(np.tri(length, dtype=bool), 0.0, HIDDEN)


def per_batch_masks() -> NDArray[np.float64]:
    """Make an additive mask for each batch entry (2,1,4,4).

    Causal for the first entry; for the second, key 1 is hidden from everyone and key 3 from query 2.
    """
    hidden_key = np.zeros((SEQUENCE, SEQUENCE))
    hidden_key[:, 1] = HIDDEN
    hidden_key[2, 3] = HIDDEN
    return np.stack([causal_mask(), hidden_key])[:, None]


def demonstration_inputs(seed: int = SEED) -> dict[str, NDArray[Any]]:
    """Draw the demonstration's inputs (1,3,8): small numbers, the first and the last key alike."""
    inputs = module_inputs(seed, width=8, batch=1, sequence=3, steps=8.0)
    for name in ("query", "key", "value"):
        inputs[name] = inputs[name] / 2.0
    inputs["key"][0, 0] = inputs["key"][0, -1]
    return inputs


SDPA_TEST = "test_scaled_dot_product_attention"

SDPA_CLAUSES = ("sdpa.scores", "sdpa.scale.default", "sdpa.softmax.keys", "sdpa.weights", "sdpa.output")
SDPA_ERRATA = ("E002.scale_multiplied", "E002.normaliser_multiplied", "E002.maximum_axis_lost")


@headed
def sdpa_case(  # noqa: D103
    name: str,
    title: str,
    section: str,
    *,
    inputs: dict[str, NDArray[Any]],
    attributes: dict[str, Any] | None = None,
    clauses: tuple[str, ...] = (),
    outputs: tuple[str, ...] = ("output", "weights"),
    errata: tuple[str, ...] = (),
    conventions: tuple[str, ...] = (),
    printed: tuple[Printed, ...] = (),
    revision: int = 1,
) -> AuthoredCase:
    return AuthoredCase(
        id=f"documents/002/{name}",
        title=title,
        operation="scaled_dot_product_attention",
        clauses=(*SDPA_CLAUSES, *clauses),
        source=Source(DOCUMENT, section),
        inputs=inputs,
        attributes=attributes or {},
        outputs=outputs,
        dtypes=EVERY_DTYPE,
        errata=(*SDPA_ERRATA, *errata),
        conventions=conventions,
        printed=printed,
        revision=revision,
    )


def unmasked_cases() -> tuple[AuthoredCase, ...]:
    """Hold the first test of the document, and the same shapes with other numbers."""
    inputs = projections()
    steps = ("output", "weights", "logsumexp", "scores")
    return (
        sdpa_case("attention_unmasked", "Attention on two batch entries of four tokens, without a mask")(
            f"{SDPA_TEST}, test 1", inputs=inputs, clauses=("sdpa.logsumexp",), outputs=steps
        ),
        sdpa_case(
            "attention_unmasked_other_values",
            "Attention in the same shapes, with query and key exchanged and other values",
        )(
            f"{SDPA_TEST}, test 1, with query and key exchanged",
            inputs={"query": inputs["key"], "key": inputs["query"], "value": -inputs["value"]},
            clauses=("sdpa.logsumexp",),
            outputs=steps,
        ),
    )


def masked_cases() -> tuple[AuthoredCase, ...]:
    """Hold every form of mask: the document's own, and the forms of the contract that say the same."""
    inputs = projections()
    causal = causal_mask()
    same_for_all = np.zeros((SEQUENCE, SEQUENCE))
    same_for_all[:, 2] = HIDDEN
    same_for_all[3, 0] = HIDDEN
    penalties = np.array([[0.0, -1.5, 0.25, 1.0], [2.0, 0.0, -0.75, 0.5], [-3.0, 1.0, 0.0, 0.5], [0.5, 4.0, -2.0, 0.0]])
    nothing_allowed = causal.copy()
    nothing_allowed[1, :] = HIDDEN
    test_2 = f"{SDPA_TEST}, test 2"
    additive = ("sdpa.mask.additive", "sdpa.mask.broadcast")
    return (
        sdpa_case("attention_causal_mask", "Attention with an additive causal mask for both batch entries")(
            test_2,
            inputs={**inputs, "mask": causal},
            clauses=additive,
            outputs=("output", "weights", "logsumexp", "logits"),
            errata=("E002.mask_subtracted", "E002.causal_mask_inverted", "E002.causal_mask_kept_value"),
            printed=(
                Printed(
                    of="mask",
                    section="create_causal_mask: mask of shape (seq_len, seq_len)",
                    data=[4, 4],
                    quantity="shape",
                ),
            ),
        ),
        sdpa_case(
            "attention_causal_boolean", "Attention with the causal mask as Booleans, True where a key may be attended"
        )(
            f"{test_2}, with the mask as Booleans",
            inputs={**inputs, "mask": causal == 0.0},
            clauses=("sdpa.mask.boolean", "sdpa.mask.broadcast"),
        ),
        sdpa_case("attention_causal_attribute", "Attention with the causal mask asked for by name")(
            f"{test_2}, with is_causal instead of the mask",
            inputs=inputs,
            attributes={"is_causal": True},
            clauses=("sdpa.causal.top_left",),
        ),
        sdpa_case(
            "attention_causal_last_two_queries",
            "The last two queries under the causal mask, aligned to the end of the keys",
        )(
            f"{test_2}, rows 2 and 3 alone",
            inputs={**inputs, "query": inputs["query"][:, :, 2:]},
            attributes={"is_causal": True, "causal_alignment": "bottom_right"},
            clauses=("sdpa.causal.bottom_right",),
        ),
        sdpa_case(
            "attention_causal_first_two_queries",
            "The first two queries under the causal mask, aligned to the start of the keys",
        )(
            f"{test_2}, rows 0 and 1 alone",
            inputs={**inputs, "query": inputs["query"][:, :, :2]},
            attributes={"is_causal": True, "causal_alignment": "top_left"},
            clauses=("sdpa.causal.top_left",),
        ),
        sdpa_case(
            "attention_shared_mask", "Attention with one additive mask for both batch entries that is not causal"
        )(
            "scaled_dot_product_attention: mask of shape (seq_len, seq_len)",
            inputs={**inputs, "mask": same_for_all},
            clauses=additive,
            errata=("E002.mask_rank_inverted", "E002.mask_subtracted"),
            revision=2,
        ),
        sdpa_case("attention_mask_of_penalties", "Attention with an additive mask of finite numbers")(
            "scaled_dot_product_attention: scores = scores + mask",
            inputs={**inputs, "mask": penalties},
            clauses=additive,
            outputs=("output", "weights", "scores", "logits"),
            errata=("E002.mask_subtracted",),
        ),
        sdpa_case("attention_per_batch_masks", "Attention with an additive mask for each batch entry")(
            "scaled_dot_product_attention: mask of shape (batch, seq_len, seq_len)",
            inputs={**inputs, "mask": per_batch_masks()},
            clauses=additive,
            errata=("E002.mask_rank_inverted", "E002.mask_subtracted"),
        ),
        sdpa_case("attention_fully_masked_row", "Attention where the second query may attend no key")(
            "scaled_dot_product_attention: check for NaN, can happen with extreme mask values",
            inputs={**inputs, "mask": nothing_allowed},
            clauses=("sdpa.fully_masked_row", *additive),
            conventions=("fully_masked_row",),
        ),
    )


def grouped_heads_case() -> AuthoredCase:
    """Put the document's numbers into four query heads that share two key/value heads."""
    inputs = projections()
    query = np.concatenate([inputs["query"], inputs["query"][..., ::-1]], axis=1)
    return sdpa_case("attention_grouped_heads", "Attention with four query heads that share two key and value heads")(
        f"{SDPA_TEST}, test 1, with its batch entries as key and value heads",
        inputs={
            "query": query.reshape(1, 2 * BATCH, SEQUENCE, HEAD_WIDTH),
            "key": inputs["key"].reshape(1, BATCH, SEQUENCE, HEAD_WIDTH),
            "value": inputs["value"].reshape(1, BATCH, SEQUENCE, HEAD_WIDTH),
        },
        clauses=("sdpa.heads.grouped",),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases of document 002 that concern one head at a time."""
    return (*unmasked_cases(), *masked_cases(), grouped_heads_case())

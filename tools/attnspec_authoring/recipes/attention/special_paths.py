"""Cases for paths that fast kernels have of their own: one query, whole tiles, wide heads, scores far apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_authoring.recipes.attention.attention import BOTTOM_RIGHT, HIDDEN, Sizes, attention, float_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec_authoring.recipes.authoring import AuthoredCase

GITHUB = "https://github.com/"


def row(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lay one number for each token out as the tokens of one head, one feature wide."""
    return numbers.reshape(1, 1, -1, 1)


def asked(*queries: float) -> NDArray[np.float64]:
    """Let two heads ask the same queries, one feature wide, of one key head."""
    return np.broadcast_to(np.array(queries)[:, np.newaxis], (1, 2, len(queries), 1))


def shared(keys: int) -> Sizes:
    """Return sizes for three queries of two heads that share a key head."""
    return Sizes(1, 2, 1, 3, keys, 1)


def one_query_cases() -> tuple[AuthoredCase, ...]:
    """Ask one query, for which decoding has a kernel of its own."""
    hidden = np.array([True, False, True, True, False])
    return (
        attention(
            "softcap/one_query_masked",
            "One query, a cap, and a mask that hides keys: what is hidden stays hidden",
            Sizes(3, 2, 2, 1, 5, 1),
            url=GITHUB + "flashinfer-ai/flashinfer/pull/350",
            mask=hidden[np.newaxis],
            softcap=1.5,
        ),
        attention(
            "logsumexp/one_query_grouped",
            "Logsumexp of one query, six query heads over three key heads, with a scale",
            Sizes(2, 6, 3, 1, 4, 1),
            url=GITHUB + "vllm-project/flash-attention/pull/34",
            outputs=("output", "logsumexp"),
            scale=0.75,
        ),
        attention(
            "sinks/twelve_above",
            "Sinks of twelve over keys with large values: exp(12) lies beyond half precision",
            Sizes(3, 2, 2, 1, 4, 1),
            url=GITHUB + "sgl-project/sgl-kernel-npu/pull/216",
            query=np.zeros((3, 2, 1, 1)),
            key=np.zeros((3, 2, 4, 1)),
            value=np.full((3, 2, 4, 1), 1024.0),
            sinks=[12.0, 12.5],
        ),
        attention(
            "alibi/lengths_both_sides",
            "Distances to both sides of queries that the lengths place",
            Sizes(2, 1, 1, 3, 5),
            url=GITHUB + "microsoft/onnxruntime/pull/29247",
            alibi_slopes=[0.5],
            key_lengths=[4, 5],
            query_lengths=[3, 2],
            causal_alignment=BOTTOM_RIGHT,
        ),
    )


def whole_tile_cases() -> tuple[AuthoredCase, ...]:
    """Fill the tiles of kernels to the last key, so that only lengths tell what counts, and go beyond a byte."""
    return (
        attention(
            "varlen/whole_tiles_alibi",
            "192 keys in whole tiles, of which 150 count, at distances beyond a signed byte",
            shared(192),
            url=GITHUB + "flashinfer-ai/flashinfer/pull/5090",
            query=asked(0.0, 0.0, 0.0),
            key=np.zeros((1, 1, 192, 1)),
            value=row(np.arange(192, dtype=np.float64) // 8),
            key_lengths=[150],
            alibi_slopes=[0.0078125, 0.015625],
            causal_alignment="top_left",
        ),
    )


def coarse(name: str, sizes: Sizes) -> dict[str, Any]:
    """Draw tensors of halves, which take little room."""
    return {tensor: np.round(2.0 * array) / 2.0 for tensor, array in sizes.drawn(name).items()}


def aligned_cases() -> tuple[AuthoredCase, ...]:
    """Use every feature where lengths and widths are multiples of 16, for which kernels have their fast paths."""
    tiles, padded, cached = (
        Sizes(1, 2, 1, 16, 32, 1),
        Sizes(2, 1, 1, 16, 32, 1),
        Sizes(1, 2, 2, 16, 16, 1, past=16),
    )
    wide = Sizes(1, 6, 2, 2, 4, 8)
    names = ("window/aligned_tiles", "varlen/aligned_tiles", "cache/aligned_tiles", "grouped_query/aligned_width")
    half_of_them = (np.arange(32) % 5 != 3) | (np.arange(32) % 3 == 0)
    return (
        attention(
            names[0],
            "16 queries and 32 keys with window, causality, cap, distances, mask and sinks",
            tiles,
            url=GITHUB + "HKUSTDial/flash-sparse-attention/pull/363",
            **coarse(names[0], tiles),
            mask=np.round(float_mask(names[0], (2, 1, 32))),
            sinks=[0.5, -0.5],
            alibi_slopes=[0.25, 0.5],
            is_causal=True,
            causal_alignment=BOTTOM_RIGHT,
            scale=-0.75,
            softcap=2.0,
            window=[9, 2],
        ),
        attention(
            names[1],
            "16 queries and 32 keys with lengths, a window, a mask for each entry, a cap and sinks",
            padded,
            url=GITHUB + "Tencent-Hunyuan/HunyuanVideo/pull/310",
            **coarse(names[1], padded),
            mask=np.stack([half_of_them, half_of_them[::-1]]).reshape(2, 1, 1, 32),
            key_lengths=[32, 21],
            query_lengths=[16, 11],
            sinks=[0.5],
            causal_alignment=BOTTOM_RIGHT,
            softcap=2.0,
            window=[5, 3],
        ),
        attention(
            names[2],
            "16 queries behind a past of 16, with a window, distances to both sides and a mask",
            cached,
            url=GITHUB + "intel/sycl-tla/pull/318",
            **coarse(names[2], cached),
            mask=np.stack([half_of_them, half_of_them[::-1]]).reshape(2, 1, 32),
            alibi_slopes=[0.25, 0.5],
            window=[12, 4],
        ),
        attention(
            names[3],
            "Heads of 8 features with window, causality, cap, distances, mask and sinks",
            wide,
            url=GITHUB + "HazyResearch/HipKittens/pull/22",
            **coarse(names[3], wide),
            mask=float_mask(names[3], (2, 4)),
            sinks=[0.5, -0.5, 1.0, 0.0, 0.25, -1.0],
            alibi_slopes=[0.25, 0.5, 0.125, 0.0625, 1.0, 0.75],
            is_causal=True,
            causal_alignment=BOTTOM_RIGHT,
            softcap=2.0,
            window=[2, None],
        ),
    )


def decoding_cases() -> tuple[AuthoredCase, ...]:
    """Use every feature with one query."""
    name, sizes = "sinks/one_query_with_everything", Sizes(2, 6, 2, 1, 4, 1, 2)
    return (
        attention(
            name,
            "One query with a cap, a float mask, distances ahead, sinks, and an entry without keys",
            sizes,
            url=GITHUB + "ROCm/rocm-libraries/pull/12229",
            outputs=("output", "logsumexp"),
            **coarse(name, sizes),
            mask=np.array([[0.0, 1.0, HIDDEN, -0.5]]),
            key_lengths=[4, 0],
            sinks=[0.5, -0.5, 1.0, 0.0, 0.25, -1.0],
            alibi_slopes=[0.25, 0.5, 0.125, 0.0625, 1.0, 0.75],
            causal_alignment="top_left",
            scale=-0.75,
            softcap=2.0,
        ),
        attention(
            "stress/one_query_large",
            "One query whose scores are some thousands",
            Sizes(3, 2, 1, 1, 4, 1),
            clauses=("sdpa.softmax.stability",),
            url=GITHUB + "vllm-project/vllm/issues/45500",
            query=np.full((3, 2, 1, 1), 64.0),
            key=np.broadcast_to(np.array([[32.0], [48.0], [-64.0], [0.0]]), (3, 1, 4, 1)),
            scale=1.0,
        ),
        attention(
            "nonfinite/one_query_beyond_key_lengths",
            "NaN behind the lengths of keys that three query heads share, one query, a cap and sinks",
            Sizes(2, 3, 1, 1, 4, 1),
            clauses=("sdpa.masked_nonfinite",),
            url=GITHUB + "pytorch/pytorch/issues/101967",
            key=np.array([[0.5, -1.0, 0.25, 1.0], [1.0, np.nan, np.nan, np.nan]]).reshape(2, 1, 4, 1),
            value=np.array([[1.0, 2.0, 4.0, 8.0], [8.0, np.nan, np.nan, np.nan]]).reshape(2, 1, 4, 1),
            key_lengths=[4, 1],
            sinks=[0.5, -0.5, 1.0],
            softcap=2.0,
        ),
    )


def mask_cases() -> tuple[AuthoredCase, ...]:
    """Repeat a mask of four axes over the batch."""
    return (
        attention(
            "masking/float_rank_4_shared_by_all",
            "A float mask of shape (1, 1, 4, 5) for a batch of two with three heads",
            Sizes(2, 3, 3, 4, 5, 1),
            url=GITHUB + "tracel-ai/burn-lm/pull/25",
            mask=float_mask("masking/float_rank_4_shared_by_all", (1, 1, 4, 5)),
        ),
    )


def smallest_cases() -> tuple[AuthoredCase, ...]:
    """Hold what goes wrong at a single query or a single key."""
    filled, ragged = "cache/one_query_fills_window", "varlen/as_many_heads_as_entries"
    of_one, of_three = Sizes(1, 1, 1, 1, 1, 1, past=2), Sizes(3, 3, 1, 1, 2, 1)
    return (
        attention(
            filled,
            "One query whose past and key just fill the window, with distances",
            of_one,
            url=GITHUB + "huggingface/transformers/issues/37574",
            **coarse(filled, of_one),
            alibi_slopes=[0.5],
            window=[2, None],
        ),
        attention(
            ragged,
            "A mask and lengths for each of as many entries as heads; one has no query, and one no keys",
            of_three,
            url=GITHUB + "keras-team/keras-hub/issues/783",
            query=np.zeros((3, 3, 1, 1)),
            key=np.zeros((3, 1, 2, 1)),
            value=np.array([[1.0, 2.0], [4.0, 8.0], [1.0, 2.0]]).reshape(3, 1, 2, 1),
            outputs=("output", "logsumexp"),
            mask=np.array([[False, False], [True, False], [True, True]]).reshape(3, 1, 1, 2),
            key_lengths=[1, 1, 0],
            query_lengths=[0, 1, 1],
        ),
        *(
            attention(
                f"window/{side}_beyond_the_keys",
                f"Three queries and one key, which the {side} side never hides",
                Sizes(1, 1, 1, 3, 1, 2, 1),
                url=GITHUB + "Dao-AILab/flash-attention/issues/895",
                query=np.zeros((1, 1, 3, 2)),
                causal_alignment=alignment,
                window=window,
            )
            for side, alignment, window in (("left", "top_left", [None, 0]), ("right", BOTTOM_RIGHT, [0, 2]))
        ),
    )


def wide_cases() -> tuple[AuthoredCase, ...]:
    """Hold heads wider than a tile of 128 features, with a rest."""
    # One large product and 132 small ones, each lost where the sum is kept in half precision: the first head's in
    # float16, the second's in bfloat16.
    small = np.arange(133) > 0
    queries = np.where(small, np.array([[0.125], [1.75]]), 8.0)
    keys = np.where(small, np.array([[0.125], [0.0]]), 8.0)
    numbers = np.arange(133, dtype=np.float64) % 16
    return (
        attention(
            "core/width_133",
            "133 features: one large product and many small ones, which decide",
            Sizes(1, 2, 1, 1, 2, 133, 1),
            url=GITHUB + "pytorch/pytorch/issues/119131",
            query=queries.reshape(1, 2, 1, 133),
            key=keys.reshape(1, 1, 2, 133),
            scale=1.0,
        ),
        attention(
            "core/value_width_1_133",
            "Values of 133 features, more than a tile of 128",
            Sizes(1, 1, 1, 1, 2, 1, 133),
            url=GITHUB + "mlc-ai/mlc-llm/pull/1889",
            query=np.zeros((1, 1, 1, 1)),
            key=np.zeros((1, 1, 2, 1)),
            value=np.stack([numbers, 16.0 - numbers]).reshape(1, 1, 2, 133) * np.array([1.0, 3.0])[:, np.newaxis],
        ),
    )


def far_cases() -> tuple[AuthoredCase, ...]:
    """Put what may be attended far from where a running maximum starts, or from where a wrong maximum lies."""
    far = np.where(np.arange(133) == 66, -1024.0, 0.0)
    only = (np.arange(133) == 66)[np.newaxis]
    only_of_five = np.arange(5) == 2
    small = np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 0.5]])
    outlier = np.array([[512.0, 1.0], [512.0, -1.0], [512.0, 0.5], [512.0, 0.0]])
    return (
        attention(
            "stress/gap_tiles_hidden_on_both_sides",
            "66 hidden keys, one that scores -1024, and 66 more hidden ones",
            shared(133),
            clauses=("sdpa.softmax.stability",),
            url=GITHUB + "Dao-AILab/flash-attention/issues/2082",
            query=asked(1.0, 1.0, 1.0),
            key=row(far),
            value=row(np.arange(133, dtype=np.float64) % 32),
            scale=1.0,
            mask=only,
        ),
        attention(
            "stress/gap_one_key_lowest",
            "The only key that may be attended scores -57344, below any number that stands for minus infinity",
            shared(5),
            clauses=("sdpa.softmax.stability",),
            url=GITHUB + "flashinfer-ai/flashinfer/pull/4401",
            query=asked(1.0, 1.0, 1.0),
            key=row(np.where(only_of_five, -57344.0, 0.0)),
            scale=1.0,
            mask=np.where(only_of_five, 0.0, HIDDEN)[np.newaxis],
        ),
        attention(
            "stress/gap_hidden_key_highest",
            "A hidden key scores 57344 above the others: no number that is subtracted from it hides it",
            shared(5),
            clauses=("sdpa.softmax.stability",),
            url=GITHUB + "ohdearquant/lattice/pull/373",
            query=asked(1.0, 1.0, 1.0),
            key=row(np.where(only_of_five, 57344.0, 0.0)),
            scale=1.0,
            mask=~only_of_five[np.newaxis],
        ),
        attention(
            "stress/scale_negative_far",
            "A negative scale and products far apart: the largest product has the smallest score",
            shared(4),
            clauses=("sdpa.softmax.stability",),
            url=GITHUB + "Dao-AILab/flash-attention/issues/1884",
            query=asked(1.0, -1.0, 0.5),
            key=row(np.array([0.0, 1536.0, -1536.0, 768.0])),
            scale=-1.0,
        ),
        attention(
            "stress/outlier_feature",
            "A feature of 512 in all keys that no query asks for: the small feature beside it decides",
            Sizes(1, 2, 1, 3, 4, 2),
            url=GITHUB + "ahb-sjsu/turboquant-pro/pull/98",
            query=np.broadcast_to(small, (1, 2, 3, 2)),
            key=outlier.reshape(1, 1, 4, 2),
            scale=1.0,
        ),
        attention(
            "stress/subnormal_queries_scaled_up",
            "Queries of some 2**-20, which the scale brings back to size",
            shared(4),
            url=GITHUB + "huggingface/diffusers/pull/2643",
            query=asked(1.0, -2.0, 0.5) * 2.0**-20,
            key=row(np.array([-2.0, 1.0, 2.0, 0.5])),
            scale=2.0**20,
        ),
    )


def cases() -> tuple[AuthoredCase, ...]:
    """Return the cases."""
    return (
        *one_query_cases(),
        *whole_tile_cases(),
        *aligned_cases(),
        *decoding_cases(),
        *mask_cases(),
        *smallest_cases(),
        *wide_cases(),
        *far_cases(),
    )

"""What goes wrong in the scores of attention: the product, the scale, the shared heads."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import altered, defaulting, departure, ignoring
from attnspec_mistakes.mistake import Mistake
from attnspec_reference.attention.phases import scale_scores
from attnspec_reference.attention.scaled_dot_product_attention import scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array

OPERATION = "scaled_dot_product_attention"


def scaled_by_default(formula: Callable[[float], float], argument: str, *axes: int) -> Computation:
    """Make an attention whose default scale is a formula of the product of some axis lengths."""

    def scale(arguments: Mapping[str, Any]) -> float:
        shape = np.shape(arguments[argument])
        return formula(math.prod(shape[axis] for axis in axes))

    return defaulting(scaled_dot_product_attention, scale=scale)


def one(_width: float) -> float:
    """Leave the scores unscaled."""
    return 1.0


def inverse(width: float) -> float:
    """Leave the root out."""
    return 1.0 / width


def inverse_root(width: float) -> float:
    """Take the right formula, of what may be the wrong number."""
    return 1.0 / math.sqrt(width)


def none_if_zero(scale: float) -> float | None:
    """Take a scale of 0 for no scale, as a test for truth does."""
    return scale or None


def divided_by_scale(raw_scores: Array, scale: float) -> Array:
    """Divide by the scale."""
    with np.errstate(all="ignore"):
        return raw_scores / scale


def divided_if_stated(**arguments: Any) -> Any:
    """Divide by a scale that is stated; the default one is right."""
    stated = arguments.get("scale") is not None
    scale = divided_by_scale if stated else scale_scores
    return departure(scaled_dot_product_attention, scale_scores=scale)(**arguments)


def transposed_scores(query: Array, key: Array) -> Array:
    """Put the keys in the rows and the queries in the columns."""
    if query.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"query has shape {query.shape}, key {key.shape}: the scores can only be transposed unnoticed "
            "when there are as many queries as keys."
        )
    return key @ np.swapaxes(query, -1, -2)


def tiled_heads(shared: Array, heads: int) -> Array:
    """Repeat the row of heads as a whole: query head h reads head h modulo Hkv."""
    return np.tile(shared, (1, heads // max(shared.shape[1], 1), 1, 1))


def first_head_for_all(shared: Array, heads: int) -> Array:
    """Let every query head read the first head."""
    return np.repeat(shared[:, :1], heads, axis=1)


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="sdpa.query_and_key_swapped",
        clause="sdpa.scores",
        sentence="Query and key were swapped: each key asked the queries, so the scores are transposed.",
        engineer="The operands of the first product are swapped: it gives K Q^T instead of Q K^T.",
        remedy="Multiply query by the transposed key, to get a row of scores for each query.",
        function=departure(scaled_dot_product_attention, score_every_key=transposed_scores),
    ),
    mistake(
        id="sdpa.scale_missing",
        clause="sdpa.scale.default",
        sentence="The scores were not scaled.",
        engineer="The softmax scale is left at 1.0.",
        remedy="Multiply the dot products by 1/sqrt(E), E being the width of query and key.",
        function=scaled_by_default(one, "query", -1),
        erratum="E000.unscaled",
        source="https://github.com/mlc-ai/mlc-llm/pull/3426",
    ),
    mistake(
        id="sdpa.scale_multiplied",
        clause="sdpa.scale.default",
        sentence="The scores were multiplied by sqrt(E) instead of divided by it.",
        engineer="The scale is sqrt(d) where 1/sqrt(d) is due.",
        remedy="Divide the dot products by sqrt(E), E being the width of query and key.",
        function=scaled_by_default(math.sqrt, "query", -1),
        erratum="E002.scale_multiplied",
        source="https://github.com/esceptico/perceiver-io/issues/9",
    ),
    mistake(
        id="sdpa.scale_one_over_width",
        clause="sdpa.scale.default",
        sentence="The scores were divided by E instead of its square root (or by the root twice).",
        engineer="The scale is applied twice, or is 1/d, where 1/sqrt(d) is due.",
        remedy="Divide the dot products by sqrt(E), once.",
        function=scaled_by_default(inverse, "query", -1),
    ),
    mistake(
        id="sdpa.scale_from_value_width",
        clause="sdpa.scale.default",
        sentence="The scale was taken from the width of the values instead of that of query and key.",
        engineer="The default scale is derived from head_dim_v instead of head_dim_qk.",
        remedy="Take the scale from the last axis of query: 1/sqrt(E).",
        function=scaled_by_default(inverse_root, "value", -1),
    ),
    mistake(
        id="sdpa.scale_from_all_heads",
        clause="sdpa.scale.default",
        sentence="The scale was taken from the width of all heads together instead of one head.",
        engineer="The default scale is derived from num_heads * head_dim instead of head_dim.",
        remedy="Take the scale from the last axis of query after the heads are split: 1/sqrt(E).",
        function=scaled_by_default(inverse_root, "query", 1, 3),
        source="https://github.com/lucidrains/vit-pytorch/issues/65",
    ),
    mistake(
        id="sdpa.scale_from_number_of_heads",
        clause="sdpa.scale.default",
        sentence="The scale was taken from the number of heads instead of the width of a head.",
        engineer="The default scale is derived from num_heads instead of head_dim.",
        remedy="Take the scale from the last axis of query: 1/sqrt(E).",
        function=scaled_by_default(inverse_root, "query", 1),
        source="https://github.com/tenstorrent/tt-metal/pull/56789",
    ),
    mistake(
        id="sdpa.scale_from_number_of_keys",
        clause="sdpa.scale.default",
        sentence="The scale was taken from the number of keys instead of the width of query and key.",
        engineer="The default scale is derived from the key length instead of head_dim.",
        remedy="Take the scale from the last axis of query: 1/sqrt(E).",
        function=scaled_by_default(inverse_root, "key", 2),
    ),
    mistake(
        id="sdpa.stated_scale_ignored",
        clause="sdpa.scale.explicit",
        sentence="The stated scale was ignored: the default one was applied.",
        engineer="The scale argument does not reach the kernel, which computes its own default.",
        remedy="Multiply the dot products by the given scale in place of 1/sqrt(E).",
        function=ignoring(scaled_dot_product_attention, "scale"),
        source="https://github.com/apple/ml-stable-diffusion/issues/345",
    ),
    mistake(
        id="sdpa.zero_scale_as_default",
        clause="sdpa.scale.zero",
        sentence="A scale of 0 was taken for no scale, and the default one was applied.",
        engineer="The scale is defaulted by truth value (scale or default), so 0.0 means unset.",
        remedy="Test whether a scale is given, not whether it is true: 0 is a scale.",
        function=altered(scaled_dot_product_attention, scale=none_if_zero),
    ),
    mistake(
        id="sdpa.stated_scale_divided",
        clause="sdpa.scale.explicit",
        sentence="The scores were divided by the stated scale instead of multiplied by it.",
        engineer="The scale argument is used as a divisor.",
        remedy="Multiply the dot products by the given scale.",
        function=divided_if_stated,
    ),
    mistake(
        id="sdpa.heads_tiled",
        clause="sdpa.heads.grouped",
        sentence="The key and value heads were tiled (0, 1, 0, 1) instead of repeated (0, 0, 1, 1).",
        engineer="Key/value heads are tiled: kv_head = head % num_kv_heads, not head / group_size.",
        remedy="Let query head h read key and value head h // (Hq / Hkv): repeat each head, not the row of heads.",
        function=departure(scaled_dot_product_attention, repeat_heads=tiled_heads),
        source="https://github.com/onnx/onnx/pull/7274",
    ),
    mistake(
        id="sdpa.first_head_for_all",
        clause="sdpa.heads.grouped",
        sentence="Every query head read the first key and value head.",
        engineer="The head stride of key and value is taken as 0 under grouped-query attention.",
        remedy="Let query head h read key and value head h // (Hq / Hkv).",
        function=departure(scaled_dot_product_attention, repeat_heads=first_head_for_all),
    ),
    mistake(
        id="sdpa.negative_scale_made_positive",
        clause="sdpa.scale.negative",
        sentence="The sign of a negative scale was dropped.",
        engineer="The scale goes through abs, or is folded in as sqrt(scale**2).",
        remedy="Multiply the dot products by the scale as it is.",
        function=altered(scaled_dot_product_attention, scale=abs),
    ),
)

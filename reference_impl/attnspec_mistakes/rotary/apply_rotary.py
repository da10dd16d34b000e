"""What goes wrong in applying a rotation: the pairs, the signs, the tokens, the features that must stay."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_mistakes.departures import altered, departure, ignoring, named_output
from attnspec_mistakes.mistake import Mistake
from attnspec_mistakes.through_float16 import through_float16, widened_through_float16
from attnspec_reference.precision import quietly, result_dtype, round_to, widen
from attnspec_reference.rotary.apply_rotary import apply_rotary, pairs_of, put_back, rotate

if TYPE_CHECKING:
    from collections.abc import Callable

    from attnspec_mistakes.departures import Computation
    from attnspec_reference.precision import Array

OPERATION = "apply_rotary"


def stepping(**steps: Any) -> Computation:
    """Replace steps of the rotation."""
    return named_output(departure(apply_rotary, **steps))


def copied_at_rest(x: Any, cos: Any, sin: Any, **pairing: Any) -> Array:
    """Copy the tokens that are turned by no angle."""
    turned = apply_rotary(x, cos, sin, **pairing)
    rests = (np.asarray(cos) == 1).all(axis=-1) & (np.asarray(sin) == 0).all(axis=-1)
    return np.where(rests[:, np.newaxis, :, np.newaxis], np.asarray(x), turned)


def pairing_exchanged(pairing: str) -> str:
    """Take the one for the other."""
    return "half" if pairing == "interleaved" else "interleaved"


def interleaved_by_default(x: Any, cos: Any, sin: Any, *, pairing: str = "interleaved") -> Array:
    """Take the other default."""
    return apply_rotary(x, cos, sin, pairing=pairing)


def side_by_side(first: Array, second: Array, pairing: str, rest: Array) -> Array:
    """Lay all first features before all second ones, however they were paired."""
    del pairing
    return put_back(first, second, "half", rest)


@quietly
def tables_for_the_other_pairing(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Write each number of the tables twice in the order of the other pairing."""
    dtype = result_dtype(x)
    width = 2 * np.shape(cos)[-1]
    wide = widen(x, dtype)
    repeated = np.repeat if pairing == "half" else _tiled
    cosines, sines = (repeated(widen(table, dtype)[:, np.newaxis], 2, -1) for table in (cos, sin))
    first, second = pairs_of(wide[..., :width], pairing)
    turned = put_back(-second, first, pairing, wide[..., width:][..., :0])
    rotated = wide[..., :width] * cosines + turned * sines
    return np.concatenate([round_to(dtype, rotated), np.asarray(x)[..., width:]], axis=-1)


def _tiled(table: Array, times: int, axis: int) -> Array:
    """Repeat a table as a whole."""
    return np.concatenate([table] * times, axis=axis)


def across_the_head(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Pair feature i with feature i + E/2, where only R of the E features turn."""
    pairs, features = np.shape(cos)[-1], np.shape(x)[-1]
    if features % 2:
        raise ValueError(f"x has shape {np.shape(x)}; an odd number of features has no half.")
    if pairing == "interleaved":
        return apply_rotary(x, cos, sin, pairing=pairing)
    missing = ((0, 0), (0, 0), (0, features // 2 - pairs))
    return apply_rotary(x, np.pad(cos, missing, constant_values=1), np.pad(sin, missing), pairing=pairing)


def turned_back(first: Array, second: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Turn from the second axis towards the first."""
    return rotate(first, second, cos, -sin)


def without_minus(first: Array, second: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Add where to subtract."""
    return cos * first + sin * second, sin * first + cos * second


def float16_as_it_is(array: Any, dtype: np.dtype[Any]) -> Array:
    """Widen bfloat16 alone: NumPy computes in float16 by itself."""
    numbers = np.asarray(array)
    return numbers if numbers.dtype == np.float16 else widen(numbers, dtype)


def one_after_the_other(first: Array, second: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Overwrite the first feature, and use it for the second."""
    first = cos * first - sin * second
    return first, sin * first + cos * second


def first_for_both(first: Array, second: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Give the second feature the products of the first."""
    return cos * first - sin * second, sin * second + cos * first


def complex_rest_lost(first: Array, second: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Multiply each part by the part of the same kind."""
    return cos * first, sin * second


def twice(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Rotate what was rotated."""
    return apply_rotary(apply_rotary(x, cos, sin, pairing=pairing), cos, sin, pairing=pairing)


def of_first(axis: int) -> Callable[[Array], Array]:
    """Take the first row of the tables for all along an axis."""

    def repeated(table: Array) -> Array:
        return np.broadcast_to(np.take(table, [0], axis=axis), table.shape)

    return repeated


def of_first_if_alike_at_first(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Take the tables of the first entry for all where the first tokens of all have the same rows."""
    tables = [np.asarray(table) for table in (cos, sin)]
    if all((table[:, :1] == table[:1, :1]).all() for table in tables):
        tables = [np.broadcast_to(table[:1], table.shape) for table in tables]
    return apply_rotary(x, *tables, pairing=pairing)


def reversed_tokens(table: Array) -> Array:
    """Read the rows of the tables from the last to the first."""
    return table[:, ::-1]


def by_head(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Take the heads for the tokens: head h is turned by row h."""
    heads, tokens = np.shape(x)[1:3]
    if heads > tokens:
        raise ValueError(f"x has shape {np.shape(x)}; {heads} heads find no row among those of {tokens} tokens.")
    cosines, sines = np.asarray(cos)[:, :heads], np.asarray(sin)[:, :heads]
    turned = apply_rotary(np.swapaxes(np.asarray(x), 1, 2), cosines, sines, pairing=pairing)
    return np.swapaxes(turned, 1, 2)


def nan_as_zero(x: Array) -> Array:
    """Put 0 in the place of NaN."""
    return np.where(np.isnan(x.astype(np.float64)), np.zeros_like(x), x)


def first_head_only(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Rotate one head."""
    turned = np.array(x)
    turned[:, :1] = apply_rotary(turned[:, :1], cos, sin, pairing=pairing)
    return turned


def rest(change: Callable[[Array, int], Array]) -> Computation:
    """Change what is given for the features from R on."""

    def computation(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
        return change(apply_rotary(x, cos, sin, pairing=pairing), 2 * np.shape(cos)[-1])

    return named_output(computation)


def zeroed(output: Array, width: int) -> Array:
    """Put zeros in their place."""
    output[..., width:] = 0
    return output


def dropped(output: Array, width: int) -> Array:
    """Leave them out."""
    return output[..., :width]


def through_bfloat16(output: Array, width: int) -> Array:
    """Keep the upper 16 bits of a float32."""
    bits = output[..., width:].astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    output[..., width:] = bits.view(np.float32).astype(output.dtype)
    return output


def scaled_too(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Rotate the rest as well, by the first angles."""
    width, features = 2 * np.shape(cos)[-1], np.shape(x)[-1]
    turned = apply_rotary(x, cos, sin, pairing=pairing)
    more = (features - width) // 2
    if 0 < more <= np.shape(cos)[-1]:
        behind = np.asarray(x)[..., width : width + 2 * more]
        rotated = apply_rotary(behind, np.asarray(cos)[..., :more], np.asarray(sin)[..., :more], pairing=pairing)
        turned[..., width : width + 2 * more] = rotated
    return turned


def last_features(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Rotate the last R features."""
    left = np.shape(x)[-1] - 2 * np.shape(cos)[-1]
    turned = apply_rotary(np.asarray(x)[..., left:], cos, sin, pairing=pairing)
    return np.concatenate([np.asarray(x)[..., :left], turned], axis=-1)


@quietly
def by_a_whole_matrix(x: Any, cos: Any, sin: Any, *, pairing: str = "half") -> Array:
    """Multiply by a matrix of the whole head, in which NaN times 0 is NaN."""
    dtype = result_dtype(x)
    features, width = np.shape(x)[-1], 2 * np.shape(cos)[-1]
    matrices = np.zeros((*np.shape(cos)[:2], features, features), dtype=widen(x, dtype).dtype)
    every = np.arange(features, dtype=np.int64)
    matrices[..., every, every] = 1.0
    first, second = pairs_of(every[:width], pairing)
    matrices[..., first, first] = matrices[..., second, second] = widen(cos, dtype)
    matrices[..., first, second] = widen(sin, dtype)
    matrices[..., second, first] = -widen(sin, dtype)
    products = widen(x, dtype)[..., :, np.newaxis] * matrices[:, np.newaxis]
    return round_to(dtype, products.sum(axis=-2))


mistake = partial(Mistake, operation=OPERATION)

MISTAKES: tuple[Mistake, ...] = (
    mistake(
        id="apply_rotary.interleaved_by_default",
        clause="apply_rotary.pairing.default",
        sentence="Without a pairing, neighbouring features were paired.",
        engineer="interleaved, GPT-J style, is the default.",
        remedy="Pair feature i with feature i + R/2 where no pairing is given.",
        function=named_output(interleaved_by_default),
        source="https://github.com/NeuraLegion/shainet/pull/111",
    ),
    mistake(
        id="apply_rotary.pairing_ignored",
        clause="apply_rotary.pairing.interleaved",
        sentence="The pairing was half although interleaved is asked for.",
        engineer="rotate_half is used for every model; the flag is not read.",
        remedy="Pair features 2i and 2i + 1 under interleaved.",
        function=named_output(ignoring(apply_rotary, "pairing")),
    ),
    mistake(
        id="apply_rotary.pairing_exchanged",
        clause="apply_rotary.pairing.half",
        sentence="Half was taken for interleaved, and interleaved for half.",
        engineer="is_neox_style is declared the wrong way round.",
        remedy="Pair i with i + R/2 under half, and 2i with 2i + 1 under interleaved.",
        function=named_output(altered(apply_rotary, pairing=pairing_exchanged)),
        source="https://github.com/NVIDIA/TensorRT-LLM/pull/16378",
    ),
    mistake(
        id="apply_rotary.not_put_back",
        clause="apply_rotary.pairing.interleaved",
        sentence="Under interleaved, the rotated features were laid side by side and not put back.",
        engineer="Even and odd results are concatenated instead of stacked and reshaped.",
        remedy="Give each feature of a pair the place that it came from, 2i and 2i + 1.",
        function=stepping(put_back=side_by_side),
        source="https://github.com/vllm-project/vllm-metal/pull/44",
    ),
    mistake(
        id="apply_rotary.tables_for_other_pairing",
        clause="apply_rotary.rotation",
        sentence="The tables were widened in the order of the other pairing, so features get angles of other pairs.",
        engineer="cos and sin are repeated where they are to be concatenated, or the other way round.",
        remedy="Give both features of a pair the same cosine and sine.",
        function=named_output(tables_for_the_other_pairing),
        source="https://github.com/facebookresearch/vjepa2/pull/15",
    ),
    mistake(
        id="apply_rotary.paired_across_head",
        clause="apply_rotary.pairing.half",
        sentence="Features were paired with those E/2 further on, although only R features turn.",
        engineer="The pair offset is head_dim / 2 instead of rotary_dim / 2.",
        remedy="Pair feature i with feature i + R/2.",
        function=named_output(across_the_head),
        source="https://github.com/pie-project/pie/issues/602",
    ),
    mistake(
        id="apply_rotary.first_token",
        clause="apply_rotary.tokens",
        sentence="All tokens were turned by the angles of the first.",
        engineer="The tables are broadcast from row 0 of the cache.",
        remedy="Turn each token by its own row of the tables.",
        function=named_output(altered(apply_rotary, cos=of_first(1), sin=of_first(1))),
    ),
    mistake(
        id="apply_rotary.first_entry",
        clause="apply_rotary.tokens",
        sentence="All batch entries were turned by the angles of the first.",
        engineer="cos[0] and sin[0] are used for the whole batch.",
        remedy="Turn each batch entry by its own tables.",
        function=named_output(altered(apply_rotary, cos=of_first(0), sin=of_first(0))),
    ),
    mistake(
        id="apply_rotary.entries_alike_at_first",
        clause="apply_rotary.tokens",
        sentence="Batch entries whose first tokens are turned alike were all turned by the tables of the first entry.",
        engineer="Whether cos and sin can be shared over the batch is told from their first rows.",
        remedy="Look at every row, or turn each batch entry by its own tables.",
        function=named_output(of_first_if_alike_at_first),
    ),
    mistake(
        id="apply_rotary.tokens_reversed",
        clause="apply_rotary.tokens",
        sentence="The first token was turned by the angles of the last one, and so on.",
        engineer="The cache is read back to front.",
        remedy="Turn each token by the row of the tables at its own place.",
        function=named_output(altered(apply_rotary, cos=reversed_tokens, sin=reversed_tokens)),
    ),
    mistake(
        id="apply_rotary.heads_as_tokens",
        clause="apply_rotary.tokens",
        sentence="The heads were taken for the tokens: head h was turned by row h of the tables.",
        engineer="The sequence axis is read from x.shape[1], which is the heads.",
        remedy="Turn the tokens, axis 2, and all heads alike.",
        function=named_output(by_head),
        source="https://github.com/ml-explore/mlx-lm/issues/1545",
    ),
    mistake(
        id="apply_rotary.first_head_only",
        clause="apply_rotary.tokens",
        sentence="Only the first head was rotated.",
        engineer="The grid of the kernel covers one head.",
        remedy="Rotate every head.",
        function=named_output(first_head_only),
    ),
    mistake(
        id="apply_rotary.turned_back",
        clause="apply_rotary.rotation",
        sentence="The pairs were turned the other way round.",
        engineer="The rotation matrix is transposed: y1 = c x1 + s x2, y2 = c x2 - s x1.",
        remedy="Subtract sin times second from the first feature, and add sin times first to the second.",
        function=stepping(rotate=turned_back),
        source="https://github.com/karpathy/nanochat/pull/489",
    ),
    mistake(
        id="apply_rotary.minus_missing",
        clause="apply_rotary.rotation",
        sentence="The minus is missing: sine times the second feature was added to the first.",
        engineer="rotate_half concatenates (x2, x1) instead of (-x2, x1).",
        remedy="Subtract sin times second from cos times first.",
        function=stepping(rotate=without_minus),
    ),
    mistake(
        id="apply_rotary.first_overwritten",
        clause="apply_rotary.rotation",
        sentence="The second feature was computed from the first one after its rotation.",
        engineer="x1 is stored in place before x2 is computed from it.",
        remedy="Compute both features of a pair from those before the rotation.",
        function=stepping(rotate=one_after_the_other),
        source="https://github.com/flagos-ai/FlagGems/issues/5142",
    ),
    mistake(
        id="apply_rotary.second_from_wrong_products",
        clause="apply_rotary.rotation",
        sentence="In the second feature, sine and cosine were exchanged.",
        engineer="y2 = c x1 + s x2 stands in for s x1 + c x2.",
        remedy="Add sin times first and cos times second.",
        function=stepping(rotate=first_for_both),
    ),
    mistake(
        id="apply_rotary.part_by_part",
        clause="apply_rotary.rotation",
        sentence="The first features were multiplied by the cosines and the second by the sines, and no more.",
        engineer="The complex product is taken part by part.",
        remedy="Take both products for each feature.",
        function=stepping(rotate=complex_rest_lost),
    ),
    mistake(
        id="apply_rotary.twice",
        clause="apply_rotary.rotation",
        sentence="The rotation was applied twice.",
        engineer="The caller rotates, and the kernel behind it rotates again.",
        remedy="Rotate queries and keys once, in one place.",
        function=named_output(twice),
        source="https://github.com/NVIDIA/TensorRT-LLM/pull/16378",
    ),
    mistake(
        id="apply_rotary.by_whole_matrix",
        clause="apply_rotary.nonfinite",
        sentence="NaN in one feature reached all features of its head.",
        engineer="The rotation is a dense E x E product, in which 0 * NaN is NaN.",
        remedy="Rotate pair by pair.",
        function=named_output(by_a_whole_matrix),
    ),
    mistake(
        id="apply_rotary.nan_zeroed",
        clause="apply_rotary.nonfinite",
        sentence="NaN in a feature was taken for 0.",
        engineer="nan_to_num is applied to the input.",
        remedy="Let NaN take its course within its pair.",
        function=named_output(altered(apply_rotary, x=nan_as_zero)),
    ),
    mistake(
        id="apply_rotary.rest_rotated",
        clause="apply_rotary.untouched",
        sentence="The features from R on were rotated, too.",
        engineer="partial_rotary_factor is ignored: the rotation goes over the whole head.",
        remedy="Leave the features from R on as they are.",
        function=named_output(scaled_too),
        source="https://github.com/AI-Hypercomputer/maxtext/issues/4616",
    ),
    mistake(
        id="apply_rotary.tokens_at_rest_copied",
        clause="apply_rotary.nonfinite",
        sentence="Tokens that are turned by no angle were copied, so that an infinity does not reach its pair.",
        engineer="Rows with cos = 1 and sin = 0 are skipped: infinity times 0 is not formed.",
        remedy="Turn every token.",
        function=named_output(copied_at_rest),
    ),
    mistake(
        id="apply_rotary.rest_zeroed",
        clause="apply_rotary.untouched",
        sentence="The features from R on became 0.",
        engineer="The output buffer is zeroed and only the rotated part is written.",
        remedy="Copy the features from R on.",
        function=rest(zeroed),
    ),
    mistake(
        id="apply_rotary.rest_in_bfloat16",
        clause="apply_rotary.untouched",
        sentence="The features from R on lost digits.",
        engineer="The pass-through slice takes a round trip through bfloat16.",
        remedy="Copy the features from R on bit for bit.",
        function=rest(through_bfloat16),
    ),
    mistake(
        id="apply_rotary.last_features",
        clause="apply_rotary.untouched",
        sentence="The last R features were rotated instead of the first.",
        engineer="The rotary slice is taken from the end of the head, as in latent attention.",
        remedy="Rotate the first R features.",
        function=named_output(last_features),
    ),
    mistake(
        id="apply_rotary.rest_dropped",
        clause="apply_rotary.shape",
        sentence="The features from R on are missing in the result.",
        engineer="The pass-through slice is not concatenated.",
        remedy="Return all E features.",
        function=rest(dropped),
    ),
    mistake(
        id="apply_rotary.products_in_float16",
        clause="apply_rotary.rotation",
        sentence="Products of features and tables were computed in float16, which they can leave where no result does.",
        engineer="fp16 is not promoted: the fused multiply-adds of a pair overflow one by one.",
        remedy="Compute in float32 at least, and round the rotated features.",
        function=stepping(widen=float16_as_it_is),
        shows_in=("float16",),
    ),
    widened_through_float16("apply_rotary", OPERATION, "apply_rotary.rotation", stepping(widen=through_float16)),
)
"""What goes wrong in applying a rotation."""

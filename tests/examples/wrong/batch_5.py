"""The fifth batch: what survived its first try of 176 fresh ones, most of them wrong in half precision alone."""

from functools import partial

import numpy as np
from kernels import Dense, Softmax, Tiled

from wrong.table import after

after = partial(after, batch=5)

HALF = ("float16", "bfloat16")


def stored(dtype, array):
    """What is left of an array after it was stored in a narrower dtype."""
    return array.astype(dtype).astype(np.float32)


def added_in_order(dtype, terms):
    """The sum along the first axis, stored in the dtype after each addition."""
    total = np.zeros(terms.shape[1:], np.float32)
    for term in terms:
        total = stored(dtype, total + term)
    return total


@after("flashinfer-ai/flashinfer/pull/350")
class DecodeCapsAfterMask(Dense):
    """With one query the cap comes after the mask, and hidden keys score minus the cap."""

    def table(self, call):
        logits = super().table(call)
        decoding = call.softcap and call.query.shape[2] == 1
        return np.maximum(logits, -call.softcap).astype(logits.dtype) if decoding else logits


@after("microsoft/onnxruntime/pull/29247")
class DistancesWithoutLengths(Tiled):
    """ALiBi takes the positions of the queries from the size of the arrays, not from the lengths."""

    def biased(self, call, entry, head, scores, rows, columns):
        if call.slopes is None:
            return scores
        first = call.key.shape[2] - call.query.shape[2] if call.bottom_right else call.past
        distance = abs((rows + first)[:, None] - columns)
        return scores - self.slope(call, head) * distance.astype(scores.dtype)


@after("fla-org/flash-linear-attention/issues/1080")
class DistancesInASignedByte(Tiled):
    """ALiBi's distances wrap around at 127."""

    def biased(self, call, entry, head, scores, rows, columns):
        if call.slopes is None:
            return scores
        distance = (rows + self.offset(call, entry))[:, None] - columns
        return scores - self.slope(call, head) * abs(distance.astype(np.int8).astype(scores.dtype))


@after("jxiw/M1/issues/4")
class LogsumexpOfDecodeByGroups(Dense):
    """With one query the logsumexps of shared heads come group by group instead of head by head."""

    def normalise(self, call, logits):
        weights, logsumexp = super().normalise(call, logits)
        batch, heads, shared, queries, *_ = call.sizes
        if queries == 1:
            logsumexp = logsumexp.reshape(batch, shared, heads // shared).swapaxes(1, 2).reshape(batch, heads, 1)
        return weights, logsumexp


@after("HKUSTDial/flash-sparse-attention/pull/265")
class LogsumexpOfDecodeUnscaled(Dense):
    """With one query the logsumexp is divided by the scale."""

    def normalise(self, call, logits):
        weights, logsumexp = super().normalise(call, logits)
        return weights, logsumexp / self.scale(call) if call.query.shape[2] == 1 else logsumexp


@after("HKUSTDial/flash-sparse-attention/pull/363")
class LengthsIgnoredInWholeTiles(Tiled):
    """Where the array of keys fills its tiles, the lengths are not looked at."""

    def key_length(self, call, entry):
        keys = call.key.shape[2]
        return keys if keys % 16 == 0 else super().key_length(call, entry)


@after("mlc-ai/mlc-llm/pull/1889")
class ValueFeaturesBeyondTheLastTile(Dense):
    """Values wider than 32 features keep whole tiles of 32 alone."""

    def mix(self, call, weights):
        output = super().mix(call, weights)
        width = output.shape[-1]
        return np.where(np.arange(width) < max(width // 32 * 32, min(width, 32)), output, 0)


@after("Dao-AILab/flash-attention/issues/2082")
class MaximumStaysAtZero(Tiled):
    """After a hidden tile the running maximum is zero, and no lower score moves it."""

    key_tile = 16

    def fold(self, largest, denominator, total, logits, values):
        largest, denominator, total = super().fold(largest, denominator, total, logits, values)
        return np.where(largest == -np.inf, 0, largest), denominator, total


@after("Dao-AILab/flash-attention/issues/1884")
class MaximumBeforeTheScale(Dense):
    """The maximum is taken before the scale, so that a negative scale makes it the minimum."""

    def normalise(self, call, logits):
        if self.scale(call) >= 0 or call.sinks is not None or not np.isfinite(logits).all():
            return super().normalise(call, logits)
        least = logits.min(axis=-1, keepdims=True, initial=np.inf)
        exponentials = np.exp(logits - least)
        denominator = exponentials.sum(axis=-1, keepdims=True)
        return exponentials / denominator, (least + np.log(denominator))[..., 0]


@after("tracel-ai/burn-lm/pull/25")
class MaskOfOneEntryRefused(Dense):
    """A mask of four axes is refused where it is not given for each batch entry."""

    def refuse(self, call):
        super().refuse(call)
        if call.mask is not None and call.mask.ndim == 4 and len(call.mask) != len(call.query):
            raise ValueError("a mask for each batch entry is needed")


@after("pytorch/pytorch/issues/119131")
class ProductsAddedInHalf(Dense):
    """The products of a query and a key are added in half precision."""

    dtypes = HALF

    def scores(self, call):
        batch, heads, shared, queries, keys, width, _ = call.sizes
        grouped = call.query.reshape(batch, shared, heads // shared, queries, 1, width)
        products = grouped * call.key[:, :, None, None]
        summed = added_in_order(call.dtype, np.moveaxis(products, -1, 0))
        return summed.reshape(batch, heads, queries, keys) * np.float32(self.scale(call))


@after("sonos/tract/pull/2586")
class DenominatorInLanesOfHalf(Dense):
    """Eight partial denominators are kept in half precision."""

    dtypes = HALF

    def normalise(self, call, logits):
        weights, logsumexp = super().normalise(call, logits)
        largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        exponentials = np.exp(logits - np.where(largest == -np.inf, 0, largest))
        lanes = [np.moveaxis(exponentials[..., lane::8], -1, 0) for lane in range(8)]
        short = sum(added_in_order(call.dtype, lane) for lane in lanes)
        lost = exponentials.sum(axis=-1) / np.where(short == 0, 1, short)
        return weights * lost[..., None] if call.sinks is None else weights, logsumexp


@after("cactus-compute/cactus/pull/480")
class ValuesAddedInHalfBySixteens(Dense):
    """Weighed values are added in half precision, and widened after every sixteen keys."""

    dtypes = HALF

    def mix(self, call, weights):
        if not np.isfinite(call.value).all():
            return super().mix(call, weights)
        batch, heads, shared, queries, keys, _, width = call.sizes
        grouped = weights.reshape(batch, shared, heads // shared, queries, keys, 1)
        weighed = np.moveaxis(grouped * call.value[:, :, None, None], -2, 0)
        tiles = [added_in_order(call.dtype, weighed[first : first + 16]) for first in range(0, keys, 16)]
        return np.sum(tiles, axis=0).reshape(batch, heads, queries, width) if tiles else super().mix(call, weights)


@after("NVIDIA/TensorRT-LLM/pull/18044")
class RunningSumsInHalf(Tiled):
    """The running denominator and the running total are stored in half precision after every sixteen keys."""

    dtypes = HALF
    key_tile = 16

    def attend(self, call):
        self.stored_in = call.dtype
        return super().attend(call)

    def fold(self, largest, denominator, total, logits, values):
        largest, denominator, total = super().fold(largest, denominator, total, logits, values)
        return largest, stored(self.stored_in, denominator), stored(self.stored_in, total)


@after("huggingface/transformers/pull/18057")
class SinkExponentialInHalf(Dense):
    """The exponential of a sink, relative to the largest score, is stored in half precision."""

    dtypes = ("float16",)

    def normalise(self, call, logits):
        if call.sinks is None:
            return super().normalise(call, logits)
        largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        largest = np.where(largest == -np.inf, 0, largest)
        exponentials = np.exp(logits - largest)
        sink = stored(call.dtype, np.exp(call.sinks.reshape(-1, 1, 1) - largest))
        return exponentials / (exponentials.sum(axis=-1, keepdims=True) + sink), super().normalise(call, logits)[1]


@after("huggingface/diffusers/pull/2643")
class SubnormalQueriesFlushed(Dense):
    """Queries and keys below the smallest normal number of float16 are taken for zero."""

    dtypes = ("float16",)

    def scores(self, call):
        kept = call.query, call.key
        call.query, call.key = (np.where(abs(array) < 2.0**-14, 0, array).astype(np.float32) for array in kept)
        scores = super().scores(call)
        call.query, call.key = kept
        return scores


@after("ahb-sjsu/turboquant-pro/pull/98")
class KeysInEightBits(Dense):
    """Queries and keys are rounded to eight bits of the largest feature of their token."""

    dtypes = HALF

    def scores(self, call):
        kept = call.query, call.key
        call.query, call.key = (self.in_eight_bits(array) for array in kept)
        scores = super().scores(call)
        call.query, call.key = kept
        return scores

    def in_eight_bits(self, array):
        step = abs(array).max(axis=-1, keepdims=True) / 127
        step = np.where((step == 0) | ~np.isfinite(step), 1, step)
        return (np.rint(array / step) * step).astype(np.float32)


@after("apache/mxnet/issues/14072")
class SoftmaxAddedInHalf(Softmax):
    """A softmax adds its exponentials in half precision, one after the other."""

    dtypes = HALF

    def softmax(self, x, *, axis=-1):
        self.stored_in = x.dtype
        return super().softmax(x, axis=axis)

    def rows(self, rows):
        exponentials = np.exp(rows - rows.max(axis=-1, keepdims=True))
        return exponentials / added_in_order(self.stored_in, exponentials.T)[:, None]


@after("chiendb97/oasr/pull/101")
class RunningMaximumFromMinusFiftyThousand(Tiled):
    """The running maximum of float16 starts at -50000 instead of minus infinity."""

    dtypes = ("float16",)

    def start(self, call, head, rows):
        largest, denominator, total = super().start(call, head, rows)
        return np.maximum(largest, -5e4).astype(np.float32), denominator, total

"""The fourth batch: what of the reports is left, again with two features at once."""

from functools import partial

import numpy as np
from kernels import Contexts, Dense, Modules, Packed, Paged, Softmax, SplitKeys, Tiled

from wrong.table import after

after = partial(after, batch=4)


@after("openvinotoolkit/openvino/issues/31630")
class MaskOfOneHeadSharedWrongly(Dense):
    """A Boolean mask that excludes nothing in a row is taken for one that excludes everything there."""

    def add_mask(self, call, scores):
        if call.mask is not None and call.mask.dtype == bool:
            return np.where(call.mask & ~call.mask.all(axis=-1, keepdims=True), scores, -np.inf)
        return super().add_mask(call, scores)


@after("pytorch/pytorch/issues/103749")
class DeadRowSpoilsNeighbours(Dense):
    """One row without keys makes the result of its head NaN."""

    def mix(self, call, weights):
        dead = (weights == 0).all(axis=-1).any(axis=-1)[..., None, None]
        return np.where(dead & (weights.shape[-1] > 0) & (call.sinks is None), np.nan, super().mix(call, weights))


@after("onnx/onnx/pull/8068")
class DeadBottomRightRows(Tiled):
    """Rows that causality leaves without a key see the first key."""

    def visible(self, call, entry, rows, columns):
        seen = super().visible(call, entry, rows, columns)
        if call.is_causal and call.bottom_right:
            seen = seen | ((rows + self.offset(call, entry) < 0)[:, None] & (columns == 0))
        return seen


@after("openvinotoolkit/openvino/issues/35959")
class DeadEntryIsNaN(Dense):
    """A batch entry without any key is NaN."""

    def mix(self, call, weights):
        output = super().mix(call, weights)
        if call.key_lengths is None or call.sinks is not None:
            return output
        return np.where((np.asarray(call.key_lengths) == 0)[:, None, None, None], np.nan, output)


@after("flashinfer-ai/flashinfer/pull/4401")
class ExponentClamped(Tiled):
    """Differences of exponents are clamped at -20."""

    def fold(self, largest, denominator, total, logits, values):
        new = np.maximum(largest, logits.max(axis=1, keepdims=True))
        shift = np.where(new == -np.inf, 0, new)
        parts = np.where(logits == -np.inf, 0, np.exp(np.maximum(logits - shift, -20)))
        correction = np.exp(largest - shift)
        return new, denominator * correction + parts.sum(axis=1, keepdims=True), total * correction + parts @ values


@after("Dao-AILab/flash-attention/issues/1745")
class PaddingOfCacheAttended(Tiled):
    """With one query, keys up to the next multiple of four behind the length are attended."""

    def key_length(self, call, entry):
        length = super().key_length(call, entry)
        return min(call.key.shape[2], -(-length // 4) * 4) if call.query.shape[2] == 1 else length


@after("NVIDIA-NeMo/Automodel/pull/2658")
class TwoMasksOverflow(Dense):
    """Mask and window are two planes of large negative numbers that add up; one alone does not exclude enough."""

    def table(self, call):
        logits = super().table(call)
        if call.mask is None or call.window is None or call.mask.dtype != bool:
            return logits
        return np.where(np.broadcast_to(~call.mask, logits.shape) & np.isinf(logits), -50.0, logits)


@after("microsoft/onnxruntime/issues/29020")
class AlignmentByGrouping(Tiled):
    """The path for shared heads aligns bottom-right, the other one as the call says."""

    def offset(self, call, entry):
        if call.query.shape[1] != call.key.shape[1] and not call.past:
            return self.key_length(call, entry) - self.query_length(call, entry)
        return super().offset(call, entry)


@after("NVIDIA/cutlass/issues/2336")
class CausalOfUnequalLengths(Packed):
    """The offset is taken from the longest sequences of the batch."""

    def offset(self, call, entry):
        if call.bottom_right:
            batch = range(len(call.query))
            longest = max((self.key_length(call, other) for other in batch), default=0)
            return longest - max((self.query_length(call, other) for other in batch), default=0)
        return super().offset(call, entry)


@after("pytorch/executorch/pull/21749")
class LaterChunksAtStart(Tiled):
    """With a past longer than the chunk, causality starts at the chunk's length."""

    def offset(self, call, entry):
        return min(super().offset(call, entry), call.query.shape[2]) if call.past else super().offset(call, entry)


@after("microsoft/onnxruntime/issues/26262")
class PresentNeedsPast(Dense):
    """Without a past, the present keys are empty."""

    def scaled_dot_product_attention(self, query, key, value, past_key=None, past_value=None, **others):
        results = super().scaled_dot_product_attention(
            query, key, value, past_key=past_key, past_value=past_value, **others
        )
        return results if past_key is not None else {**results, "present_value": value[:, :, :0]}


@after("openvinotoolkit/openvino/pull/31365")
class MaskOfTheFirstCallByScale(Dense):
    """The first mask of a scale and a shape is used for all later ones."""

    def __init__(self):
        self.masks = {}

    def add_mask(self, call, scores):
        if call.mask is not None:
            call.mask = self.masks.setdefault((call.scale, call.query.shape, call.mask.shape, call.dtype), call.mask)
            if call.mask.dtype != bool:
                return scores + call.mask
        return super().add_mask(call, scores)


@after("pytorch/pytorch/issues/191203")
class NegativeScaleByItsSize(Tiled):
    """The scale goes to both sides as a square root, and its sign is lost."""

    def scale(self, call):
        return abs(super().scale(call))


@after("microsoft/onnxruntime/pull/28370")
class CapAfterFloatMask(Tiled):
    """The cap comes after a float mask, and before a Boolean one."""

    def logits(self, call, entry, head, query, key, rows, columns):
        self.late = call.mask is not None and call.mask.dtype != bool
        return super().logits(call, entry, head, query, key, rows, columns)

    def cap(self, call, scores):
        return scores if self.late else super().cap(call, scores)

    def masked(self, call, entry, head, scores, rows, columns):
        masked = super().masked(call, entry, head, scores, rows, columns)
        return np.where(np.isinf(masked), masked, super().cap(call, masked)) if self.late else masked


@after("sgl-project/sglang/issues/33915")
class CapForgottenWhenDecoding(Tiled):
    """The path for one query knows no cap."""

    def cap(self, call, scores):
        return scores if call.query.shape[2] == 1 else super().cap(call, scores)


@after("ekzhang/jax-js/pull/180")
class ValuesTiledKeysRepeated(Dense):
    """Keys are repeated head by head, values as a whole."""

    def mix(self, call, weights):
        _, heads, shared, *_ = call.sizes
        value = np.tile(call.value, (1, heads // shared, 1, 1))
        return np.einsum("bhqk,bhkv->bhqv", weights, value)


@after("PrimeIntellect-ai/prime-rl/pull/2681")
class RepeatedAlongTokens(Dense):
    """Values are repeated along the tokens where there are enough of them."""

    def mix(self, call, weights):
        _, heads, shared, _, keys, *_ = call.sizes
        if heads != shared and keys % 2 == 0:
            call.value = np.repeat(call.value, 2, axis=2)[:, :, :keys]
        return super().mix(call, weights)


@after("ajhalthor/Transformer-Neural-Network/pull/4")
class CombinedByViewWhenSquare(Modules):
    """Heads are merged by a view where there are as many as tokens."""

    def merge(self, mixed):
        return super().merge(mixed.swapaxes(1, 2) if mixed.shape[1] == mixed.shape[2] else mixed)


@after("thu-ml/SageAttention/pull/377")
class OddTailIsNaN(Tiled):
    """A last tile of one key holds NaN."""

    def fold(self, largest, denominator, total, logits, values):
        if logits.shape[1] == 1 and total.any():
            logits = logits * np.nan
        return super().fold(largest, denominator, total, logits, values)


@after("jax-ml/jax/issues/18590")
class LongLengthsRefused(Tiled):
    """More than 128 keys must be a multiple of 128."""

    def refuse(self, call):
        super().refuse(call)
        if call.key.shape[2] > 128 and call.key.shape[2] % 128:
            raise ValueError("kv_seq_len must be divisible by block_k")


@after("vllm-project/flash-attention/pull/87")
class SumsInGroupOrder(Dense):
    """The logsumexp of shared heads is written in the order of groups."""

    def normalise(self, call, logits):
        weights, logsumexp = super().normalise(call, logits)
        batch, heads, shared, queries, *_ = call.sizes
        grouped = logsumexp.reshape(batch, shared, heads // shared, queries)
        return weights, grouped.swapaxes(1, 2).reshape(batch, heads, queries)


@after("tenstorrent/tt-metal/issues/20986")
class RunningSumLosesSmallParts(Tiled):
    """A part below a millionth of the running sum is not added."""

    def fold(self, largest, denominator, total, logits, values):
        new, after_all, summed = super().fold(largest, denominator, total, logits, values)
        parts = np.exp(logits - np.where(new == -np.inf, 0, new))
        lost = np.where(parts < 1e-6 * after_all, parts, 0)
        return new, after_all - lost.sum(axis=1, keepdims=True), summed - lost @ values


@after("ModelTC/LightLLM/pull/743")
class ScoresRounded(Dense):
    """Scores are stored in single precision."""

    def scores(self, call):
        return super().scores(call).astype(np.float32).astype(call.query.dtype)


@after("microsoft/onnxruntime/issues/26766")
class BroadcastHeadsByStride(Tiled):
    """A mask of one head in a batch is read with the stride of all heads."""

    def mask_tile(self, call, entry, head, rows, columns):
        batch, heads, *_ = call.sizes
        if call.mask.ndim == 4 and call.mask.shape[1] == 1 and call.mask.shape[0] > 1:
            return super().mask_tile(call, min(entry * heads + head, batch - 1), head, rows, columns)
        return super().mask_tile(call, entry, head, rows, columns)


@after("deepspeedai/DeepSpeed/pull/2285")
class MaskStrideOfQueries(Tiled):
    """A row of the mask is as long as there are queries."""

    def mask_tile(self, call, entry, head, rows, columns):
        batch, heads, _, queries, keys, *_ = call.sizes
        flat = np.broadcast_to(call.mask, (batch, heads, queries, keys))[entry, head].ravel()
        return flat[(rows[:, None] * min(queries, keys) + columns) % len(flat)]


@after("openvinotoolkit/openvino/pull/30758")
class RowOfMaskForFirstQuery(Tiled):
    """A mask with one row acts on the first query alone."""

    def mask_tile(self, call, entry, head, rows, columns):
        tile = super().mask_tile(call, entry, head, rows, columns)
        if call.mask.shape[-2] == 1:
            tile = np.where(rows[:, None] == 0, tile, tile.dtype == bool)
        return tile


@after("huggingface/transformers/pull/40700")
class WindowHalved(Tiled):
    """A window with two equal sides is taken for the width of the whole."""

    def in_window(self, call, seen, positions, columns):
        left, right = call.window or (None, None)
        if left is not None and left == right:
            return seen & (abs(columns - positions) <= left // 2)
        return super().in_window(call, seen, positions, columns)


@after("huggingface/transformers/issues/35924")
class WindowLostBesideMask(Dense):
    """The window is lost where there is a mask."""

    def seen(self, call, distance, columns):
        if call.mask is not None:
            call.window = None
        return super().seen(call, distance, columns)


@after("vllm-project/vllm/pull/30887")
class WindowSkipsByTile(Tiled):
    """A tile that only begins before the window is skipped as a whole."""

    def key_blocks(self, call, entry, rows):
        left = (call.window or (None, None))[0]
        first = 0 if left is None else int(rows[0]) + self.offset(call, entry) - left
        for columns in super().key_blocks(call, entry, rows):
            if columns[0] >= first - 1 or left is None:
                yield columns


@after("cosdt/vllm-ascend/pull/6")
class SlopesOfTheFirstEntry(Tiled):
    """ALiBi acts on the first batch entry alone."""

    def slope(self, call, head):
        return call.slopes[head] if call.entry == 0 else 0 * call.slopes[head]

    def biased(self, call, entry, head, scores, rows, columns):
        call.entry = entry
        return super().biased(call, entry, head, scores, rows, columns)


@after("NVIDIA-NeMo/RL/issues/2105")
class BoundariesShifted(Packed):
    """Key boundaries after the second are one too early."""

    def bounds(self, lengths):
        bounds = super().bounds(lengths)
        bounds[2:-1] = np.maximum(bounds[2:-1] - 1, bounds[1:-2])
        return bounds


@after("feifeibear/long-context-attention/issues/122")
class LogsumexpOverPaddedQueries(Tiled):
    """The logsumexp is as long as the queries rounded up to a multiple of four."""

    def scaled_dot_product_attention(self, query, key, value, **others):
        results = super().scaled_dot_product_attention(query, key, value, **others)
        padded = [(0, 0), (0, 0), (0, -query.shape[2] % 4)]
        return {**results, "logsumexp": np.pad(results["logsumexp"], padded)}


@after("flashinfer-ai/flashinfer/issues/4485")
class BaseByHeads(Tiled):
    """With shared heads the logsumexp is to the base 2."""

    def finish(self, largest, denominator, total):
        output, logsumexp = super().finish(largest, denominator, total)
        return output, logsumexp / np.log(2) if self.grouped else logsumexp

    def attend(self, call):
        self.grouped = call.query.shape[1] != call.key.shape[1]
        return super().attend(call)


@after("vllm-project/flash-attention/pull/34")
class SinkLeftOutOfLogsumexp(SplitKeys):
    """The sink joins the output, but not the logsumexp."""

    def merge(self, call, head, partial):
        output, _ = super().merge(call, head, partial)
        kept, call.sinks = call.sinks, None
        _, logsumexp = super().merge(call, head, partial)
        call.sinks = kept
        return output, logsumexp


@after("thu-ml/SageAttention/issues/386")
class StridesOfValuesFromKeys(Dense):
    """Values with gaps are read without them."""

    def scaled_dot_product_attention(self, query, key, value, **others):
        if value.strides[-1] not in (value.itemsize, 0) and value.base is not None and value.size:
            value = np.lib.stride_tricks.as_strided(value, value.shape, (*value.strides[:-1], value.itemsize))
        return super().scaled_dot_product_attention(query, key, value, **others)


@after("pytorch/pytorch/pull/164702")
class CausalityOfTheFirstCall(Dense):
    """Whether a call is causal is decided by the first one with these shapes."""

    def __init__(self):
        self.causal = {}

    def seen(self, call, distance, columns):
        shapes = (call.query.shape, call.key.shape, call.value.shape, call.mask is None, call.dtype)
        call.is_causal = self.causal.setdefault(shapes, call.is_causal)
        return super().seen(call, distance, columns)


@after("pegainfer-project/pegainfer/pull/623")
class OtherKernelForPairs(Paged):
    """A batch of two takes a kernel whose pages are read in the order of memory."""

    def page_index(self, call, number):
        return number if len(call.query) == 2 else super().page_index(call, number)


@after("pytorch/pytorch/pull/161936")
class MixedMaskRefused(Modules):
    """A float mask of rank 4 is an error."""

    def masked(self, scores, mask, is_causal):
        if mask is not None and mask.dtype != bool and mask.ndim == 4:
            raise TypeError("mask and query differ in dtype")
        return super().masked(scores, mask, is_causal)


@after("stanford-crfm/mistral/issues/67")
class SoftmaxAfterClamping(Softmax):
    """Numbers are clamped to 65504 before the softmax."""

    def rows(self, rows):
        return super().rows(np.clip(rows, -65504, 65504))


@after("tenstorrent/tt-metal/pull/56789")
class ScaleOfEncoderLength(Contexts):
    """The default scale is that of the larger side of the table of states."""

    def factor(self, states, scale):
        return max(states.shape) ** -0.5 if scale is None else scale

"""The first batch: masks, positions, caches, windows."""

from functools import partial

import numpy as np
from kernels import Dense, Modules, Packed, Paged, SplitKeys, Tiled

from wrong.table import after

after = partial(after, batch=1)


@after("tinygrad/tinygrad/pull/2425")
class CausalAddsOne(Tiled):
    """A causal mask holds 1 instead of 0 on the keys that may be attended."""

    def masked(self, call, entry, head, scores, rows, columns):
        return super().masked(call, entry, head, scores, rows, columns) + (1.0 if call.is_causal else 0.0)


@after("lucidrains/x-transformers/issues/160")
class InvertedWithoutBias(Tiled):
    """A Boolean mask is inverted unless there is an ALiBi bias."""

    def mask_tile(self, call, *indices):
        tile = super().mask_tile(call, *indices)
        return ~tile if tile.dtype == bool and call.slopes is None else tile


@after("mlverse/torch/pull/1208")
class FloatMaskFills(Dense):
    """Negative numbers of a float mask fill with minus infinity instead of being added."""

    def add_mask(self, call, scores):
        if call.mask is not None and call.mask.dtype != bool:
            return np.where(call.mask < 0, -np.inf, scores)
        return super().add_mask(call, scores)


@after("ml-explore/mlx/issues/2395")
class DeadRowIsStale(Tiled):
    """A row without keys returns what its buffer contained before."""

    def finish(self, largest, denominator, total):
        output, logsumexp = super().finish(largest, denominator, total)
        return np.where(denominator == 0, 0.25, output), logsumexp


@after("microsoft/onnxruntime/pull/28958")
class LowestNumberAsSentinel(Dense):
    """Excluded keys get the lowest finite number, so that a row without keys is the mean of all values."""

    def table(self, call):
        return np.maximum(super().table(call), np.finfo(call.query.dtype).min)


@after("huggingface/candle/pull/3625")
class MaskBesideCausality(Tiled):
    """With a mask and causality together, a row without keys is 0/0."""

    def finish(self, largest, denominator, total):
        output, logsumexp = super().finish(largest, denominator, total)
        return np.where(denominator == 0, self.empty, output), logsumexp

    def attend(self, call):
        self.empty = np.nan if call.mask is not None and call.is_causal else 0
        return super().attend(call)


@after("intel/torch-xpu-ops/pull/5022")
class NaNsSilenced(Dense):
    """Every NaN of the result becomes 0, those that the inputs caused too."""

    def mix(self, call, weights):
        return np.nan_to_num(super().mix(call, weights), posinf=np.inf, neginf=-np.inf)


@after("flashinfer-ai/flashinfer/issues/4267")
class MaximumStartsAtMinus50000(Tiled):
    """The running maximum starts at -50000: rows below it vanish."""

    def start(self, call, head, rows):
        largest, denominator, total = super().start(call, head, rows)
        return np.maximum(largest, -5e4), denominator, total


@after("pytorch/pytorch/pull/130014")
class FirstTileMasked(Tiled):
    """A first tile without a key is infinity minus infinity."""

    def fold(self, largest, denominator, total, logits, values):
        new = np.maximum(largest, logits.max(axis=1, keepdims=True))
        correction, parts = np.exp(largest - new), np.exp(logits - new)
        return new, denominator * correction + parts.sum(axis=1, keepdims=True), total * correction + parts @ values


@after("HabanaAI/vllm-fork/issues/275")
class SubtractsTen(Dense):
    """A constant 10 is subtracted instead of the largest logit."""

    def normalise(self, call, logits):
        if call.sinks is not None:
            return super().normalise(call, logits)
        exponentials = np.exp(logits - 10)
        total = exponentials.sum(axis=-1, keepdims=True)
        return exponentials / np.where(total == 0, 1, total), 10 + np.log(total)[..., 0]


@after("microsoft/onnxruntime/pull/29050")
class OffsetNeverNegative(Tiled):
    """With more queries than keys, bottom-right alignment falls back to top-left."""

    def offset(self, call, entry):
        return max(super().offset(call, entry), 0)


@after("NVIDIA/TensorRT-LLM/issues/10102")
class WindowStartsTooLate(Tiled):
    """The loop over keys starts where the window of an unshifted query would, counted from the last key."""

    def key_blocks(self, call, entry, rows):
        left = (call.window or (None, None))[0]
        for columns in super().key_blocks(call, entry, rows):
            if left is None or columns[-1] >= rows[0] + call.key.shape[2] - call.query.shape[2] - left:
                yield columns


@after("gittensor-ai-lab/sparkinfer/issues/3")
class CachedPrefixDropped(Tiled):
    """A causal loop over keys ends at the query's number, past or no past."""

    def key_blocks(self, call, entry, rows):
        end = min(call.key.shape[2], rows[-1] + 1) if call.is_causal else call.key.shape[2]
        for columns in super().key_blocks(call, entry, rows):
            if columns[0] < end:
                yield columns[columns < end]


@after("ROCm/flash-attention/issues/158")
class WindowAtOneQuery(Tiled):
    """With a single query, its window is placed at the first key."""

    def offset(self, call, entry):
        return 0 if call.query.shape[2] == 1 and call.window else super().offset(call, entry)


@after("Mikyx-1/TinyLLM/pull/18")
class NoMaskWithACache(Tiled):
    """Causality is off whenever there is a past."""

    def visible(self, call, entry, rows, columns):
        if call.past:
            call.is_causal = False
        return super().visible(call, entry, rows, columns)


@after("GeeeekExplorer/nano-vllm/pull/213")
class ChunkEndIsSequenceEnd(Packed):
    """The key length of a batch entry is the length of the buffer wherever queries are padded."""

    def key_length(self, call, entry):
        return super().key_length(call, entry) if call.query_lengths is None else call.key.shape[2]


@after("pytorch/pytorch/issues/195910")
class CausalityByGroupsOfFour(Tiled):
    """Causality is decided once for four queries, by the last of them."""

    def visible(self, call, entry, rows, columns):
        last = np.minimum(rows // 4 * 4 + 3, call.query.shape[2] - 1) if call.is_causal else rows
        return super().visible(call, entry, last, columns)


@after("tenstorrent/tt-metal/issues/41215")
class LengthRoundedUp(Tiled):
    """A key length is rounded up to whole blocks of two."""

    def key_length(self, call, entry):
        return min(-(-super().key_length(call, entry) // 2) * 2, call.key.shape[2])


@after("pytorch/pytorch/pull/184122")
class ScaleOfTheFirstCall(Dense):
    """Calls of the same shapes share the scale of the first of them."""

    def __init__(self):
        self.scales = {}

    def scale(self, call):
        return self.scales.setdefault((call.query.shape, call.key.shape, call.dtype), super().scale(call))


@after("mlc-ai/mlc-llm/pull/3426")
class DecodingUnscaled(Tiled):
    """The path for one query does not scale."""

    def scale(self, call):
        return 1.0 if call.query.shape[2] == 1 else super().scale(call)


@after("ggml-org/llama.cpp/pull/29034")
class TailThroughTheCap(Tiled):
    """The padding of the last tile goes through the cap, and comes out as a number."""

    def fold(self, largest, denominator, total, logits, values):
        missing = self.key_tile - logits.shape[1]
        if self.softcap and self.maskless:
            logits = np.pad(logits, ((0, 0), (0, missing)), constant_values=-self.softcap)
            values = np.pad(values, ((0, missing), (0, 0)))
        return super().fold(largest, denominator, total, logits, values)

    def attend(self, call):
        self.softcap, self.maskless = call.softcap, call.mask is None
        return super().attend(call)


@after("onnx/onnx/issues/7865")
class CapAfterTheMask(Dense):
    """The cap comes after the mask."""

    def add_mask(self, call, scores):
        softcap, call.softcap = call.kept, None
        masked = super().add_mask(call, scores)
        return softcap * np.tanh(masked / softcap) if softcap else masked

    def table(self, call):
        call.kept, call.softcap = call.softcap, None
        return super().table(call)


@after("flashinfer-ai/flashinfer/issues/1193")
class CapWithoutDivision(Tiled):
    """The score is not divided by the cap before the hyperbolic tangent."""

    def cap(self, call, scores):
        return call.softcap * np.tanh(scores) if call.softcap else scores


@after("HazyResearch/HipKittens/pull/22")
class HeadModuloGroup(Tiled):
    """The key head is the query head modulo the group size, where that is a head at all."""

    def shared_head(self, call, head):
        _, heads, shared, *_ = call.sizes
        return head % (heads // shared) % shared if shared > 1 else 0


@after("huggingface/candle/issues/3388")
class GroupedHeadsBesideWideMask(Tiled):
    """NaN where heads are shared and the mask is not square."""

    def mask_tile(self, call, entry, head, rows, columns):
        tile = super().mask_tile(call, entry, head, rows, columns)
        _, heads, shared, queries, keys, *_ = call.sizes
        return np.full(tile.shape, np.nan) if heads != shared and queries != keys else tile


@after("intel/torch-xpu-ops/issues/5090")
class MaskByKeyHead(Tiled):
    """A mask for each head is read by the number of the key head."""

    def mask_tile(self, call, entry, head, rows, columns):
        return super().mask_tile(call, entry, self.shared_head(call, head), rows, columns)


@after("lsdefine/attention-is-all-you-need-keras/issues/36")
class MaskSampleMajor(Tiled):
    """Masks of batch entries are repeated in another order than heads are laid out."""

    def mask_tile(self, call, entry, head, rows, columns):
        batch, heads, *_ = call.sizes
        if call.mask.ndim == 4 and call.mask.shape[1] == 1:
            return super().mask_tile(call, (entry * heads + head) % batch, head, rows, columns)
        return super().mask_tile(call, entry, head, rows, columns)


@after("pytorch/torchtitan/issues/2223")
class TransposedOnceMore(Dense):
    """Heads and tokens of the result are swapped, and the shape is put back by a view."""

    def mix(self, call, weights):
        output = super().mix(call, weights)
        return output.swapaxes(1, 2).reshape(output.shape)


@after("tenstorrent/tt-metal/issues/54833")
class PaddingCountsAsKeys(Tiled):
    """The zeros that fill the last tile of keys take part with the score 0."""

    def fold(self, largest, denominator, total, logits, values):
        missing = self.key_tile - logits.shape[1]
        logits = np.pad(logits, ((0, 0), (0, missing)))
        return super().fold(largest, denominator, total, logits, np.pad(values, ((0, missing), (0, 0))))


@after("triton-lang/triton/issues/2059")
class LastQueriesLost(Tiled):
    """Queries of an unfinished last tile stay zero, if there is a whole tile before it."""

    query_tile = 4

    def query_block(self, call, entry, head, rows):
        output, logsumexp = super().query_block(call, entry, head, rows)
        return (output * 0, logsumexp) if len(rows) < self.query_tile and rows[0] else (output, logsumexp)


@after("paiml/aprender/issues/2753")
class NeverCorrected(Tiled):
    """The old maximum is overwritten before the correction is computed, which is then always 1."""

    def fold(self, largest, denominator, total, logits, values):
        new = np.maximum(largest, logits.max(axis=1, keepdims=True))
        parts = np.exp(logits - np.where(new == -np.inf, 0, new))
        return new, denominator + parts.sum(axis=1, keepdims=True), total + parts @ values


@after("ROCm/fleet-chiplet-megakernel/pull/8")
class MergedByPowersOfTwo(SplitKeys):
    """Natural logarithms are merged with exp2."""

    def merge(self, call, head, partial):
        scaled = [(output, logsumexp * np.log(2)) for output, logsumexp in partial]
        output, _ = super().merge(call, head, scaled)
        return output, super().merge(call, head, partial)[1]


@after("sgl-project/sgl-kernel-npu/pull/216")
class SinkOutsideTheMaximum(Tiled):
    """The sink joins at the end, without the maximum subtracted."""

    def start(self, call, head, rows):
        self.sink = None if call.sinks is None else call.sinks[head]
        call.sinks, kept = None, call.sinks
        state = super().start(call, head, rows)
        call.sinks = kept
        return state

    def finish(self, largest, denominator, total):
        return super().finish(largest, denominator + (0 if self.sink is None else np.exp(self.sink)), total)


@after("Dao-AILab/flash-attention/pull/2083")
class MaximumOfTheLastTile(Tiled):
    """The maximum of the tile replaces the running one, and the correction is cut at 1."""

    def fold(self, largest, denominator, total, logits, values):
        new = logits.max(axis=1, keepdims=True)
        shift = np.where(new == -np.inf, 0, new)
        correction = np.minimum(np.exp(largest - shift), 1)
        parts = np.exp(logits - shift)
        return new, denominator * correction + parts.sum(axis=1, keepdims=True), total * correction + parts @ values


@after("apache/tvm/issues/17099")
class SinglePrecisionSums(Dense):
    """Sums over keys are carried in single precision."""

    def mix(self, call, weights):
        call.value = call.value.astype(np.float32)
        return super().mix(call, weights.astype(np.float32))


@after("hyunwoongko/transformer/pull/40")
class PaddingOnTheQueries(Tiled):
    """A mask for each batch entry hides queries instead of keys where there are as many of both."""

    def mask_tile(self, call, entry, head, rows, columns):
        queries, keys = call.query.shape[2], call.key.shape[2]
        tile = super().mask_tile(call, entry, head, rows, columns)
        if call.mask.ndim == 4 and call.mask.shape[2] == 1 and queries == keys:
            whole = np.broadcast_to(call.mask[entry, 0, 0][:, None], (queries, keys))
            return whole[np.ix_(rows, columns)]
        return tile


@after("huggingface/transformers/issues/29623")
class OneKeyTooMany(Paged):
    """The window holds one more key before the query."""

    def in_window(self, call, seen, positions, columns):
        left, right = call.window or (None, None)
        call.window = None if call.window is None else (None if left is None else left + 1, right)
        seen = super().in_window(call, seen, positions, columns)
        call.window = None if call.window is None else (left, right)
        return seen


@after("sgl-project/sglang/pull/32087")
class OldestKeyDropped(Tiled):
    """With one query, the oldest key of the window is dropped."""

    def in_window(self, call, seen, positions, columns):
        left = (call.window or (None, None))[0]
        if left is not None and call.query.shape[2] == 1:
            seen = seen & (columns > positions - left)
        return super().in_window(call, seen, positions, columns)


@after("meta-pytorch/attention-gym/pull/86")
class DistanceRewarded(Tiled):
    """ALiBi adds what it should take away."""

    def slope(self, call, head):
        return -call.slopes[head]


@after("keras-team/keras/issues/23038")
class CausalityDroppedBesideMask(Modules):
    """Causality is dropped where there is a mask with a batch axis."""

    def masked(self, scores, mask, is_causal):
        return super().masked(scores, mask, is_causal and (mask is None or mask.ndim < 4))

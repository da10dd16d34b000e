"""The third batch: two features at once, odd sizes, splits, numbers at the edge, errors on valid input."""

from functools import partial

import numpy as np
from kernels import Contexts, Dense, Modules, Packed, Paged, Shapes, SingleHead, Softmax, SplitKeys, Tiled

from wrong.table import after

after = partial(after, batch=3)


@after("onnx/onnx/issues/8054")
class NoOffsetWithLengths(Tiled):
    """With key lengths, queries stand at the first key whatever the alignment."""

    def offset(self, call, entry):
        return call.past if call.key_lengths is not None else super().offset(call, entry)


@after("microsoft/onnxruntime/pull/25927")
class OffsetOfTheFirstEntry(Packed):
    """The offset of the first batch entry holds for all."""

    def offset(self, call, entry):
        return super().offset(call, 0)


@after("hyprstream/hyprstream/pull/1521")
class PromptForgottenBySeveral(Tiled):
    """With a past and more than one new query, causality starts at the first key."""

    def offset(self, call, entry):
        return 0 if call.past and call.query.shape[2] > 1 and call.is_causal else super().offset(call, entry)


@after("huggingface/candle/pull/3743")
class MaskOfNewKeysAlone(Tiled):
    """The mask acts on the new keys; past keys are always attended."""

    def mask_tile(self, call, entry, head, rows, columns):
        tile = super().mask_tile(call, entry, head, rows, columns)
        return np.where(columns < call.past, tile.dtype == bool, tile)


@after("microsoft/onnxruntime/pull/27791")
class PresentWithoutPast(Dense):
    """The present holds the new keys alone, after a past of one token."""

    def scaled_dot_product_attention(self, query, key, value, past_key=None, past_value=None, **others):
        results = super().scaled_dot_product_attention(
            query, key, value, past_key=past_key, past_value=past_value, **others
        )
        return results if past_key is None or past_key.shape[2] != 1 else {**results, "present_key": key.copy()}


@after("sgl-project/sglang/pull/9279")
class MaskShiftedByWindow(Tiled):
    """With a window, the mask is read as if it began at the first key of the window."""

    def mask_tile(self, call, entry, head, rows, columns):
        left = (call.window or (None, None))[0]
        if left is None:
            return super().mask_tile(call, entry, head, rows, columns)
        first = max(0, int(rows[0]) + self.offset(call, entry) - left)
        return super().mask_tile(call, entry, head, rows, np.maximum(columns - first, 0))


@after("openvinotoolkit/openvino/pull/21217")
class OneSharedHeadUnmasked(Tiled):
    """Where all query heads share one key head, the mask of the first head holds for all."""

    def mask_tile(self, call, entry, head, rows, columns):
        return super().mask_tile(call, entry, 0 if call.key.shape[1] == 1 else head, rows, columns)


@after("jax-ml/jax/issues/28974")
class KeyMaskRefused(Dense):
    """A mask (B, 1, 1, Sk) is an error."""

    def add_mask(self, call, scores):
        if call.mask is not None and call.mask.ndim == 4 and call.mask.shape[1:3] == (1, 1):
            raise IndexError("bias must be broadcast by the caller")
        return super().add_mask(call, scores)


@after("Dao-AILab/flash-attention/issues/2541")
class HeadsLastKeys(Dense):
    """Keys that lie in memory with tokens before heads are read as if heads came first."""

    def scaled_dot_product_attention(self, query, key, value, **others):
        if key.ndim == 4 and key.swapaxes(1, 2).flags.c_contiguous and not key.flags.c_contiguous:
            key = np.ascontiguousarray(key.swapaxes(1, 2)).reshape(key.shape)
        return super().scaled_dot_product_attention(query, key, value, **others)


@after("facebookresearch/xformers/issues/813")
class BiasOfOddWidth(Tiled):
    """A float mask whose rows are no multiple of 8 is refused."""

    def refuse(self, call):
        super().refuse(call)
        if call.mask is not None and call.mask.dtype != bool and call.mask.shape[-1] % 8:
            raise ValueError("the last stride of the bias must be a multiple of 8")


@after("deepspeedai/DeepSpeed/pull/1913")
class MaskOverwritten(Dense):
    """The mask of the caller is filled with zeros after use."""

    def scaled_dot_product_attention(self, query, key, value, mask=None, **others):
        results = super().scaled_dot_product_attention(query, key, value, mask=mask, **others)
        if mask is not None and mask.flags.writeable and mask.dtype == bool:
            mask[...] = True
        return results


@after("pytorch/pytorch/issues/160064")
class WeightsOfDeadRowsNaN(Dense):
    """The output of a row without keys is zero, and its weights are NaN."""

    def scaled_dot_product_attention(self, *inputs, **others):
        results = super().scaled_dot_product_attention(*inputs, **others)
        return {**results, "weights": self.kept.astype(inputs[0].dtype if inputs else others["query"].dtype)}

    def mix(self, call, weights):
        self.kept = weights if call.sinks is not None else weights / weights.sum(axis=-1, keepdims=True)
        return super().mix(call, weights)


@after("pytorch/pytorch/issues/109517")
class LowestNumberExcludes(Dense):
    """A float mask of a large negative finite number excludes the key."""

    def add_mask(self, call, scores):
        masked = super().add_mask(call, scores)
        floats = call.mask is not None and call.mask.dtype != bool
        return np.where(call.mask < -1000, -np.inf, masked) if floats else masked


@after("huggingface/transformers/pull/27114")
class ExcludedTwiceIsNaN(Dense):
    """A key that mask and causality both exclude is minus infinity twice, and its row NaN if nothing is left."""

    def table(self, call):
        logits = super().table(call)
        if call.mask is not None and call.is_causal and call.mask.dtype == bool:
            dead = (logits == -np.inf).all(axis=-1, keepdims=True)
            return np.where(dead & ~np.broadcast_to(call.mask, logits.shape), np.nan, logits)
        return logits


@after("Dao-AILab/flash-attention/issues/282")
class LongerKeysTopLeft(Tiled):
    """With more keys than queries, bottom-right causality is placed top-left; windows are not."""

    def visible(self, call, entry, rows, columns):
        seen = super().visible(call, entry, rows, columns)
        if call.is_causal and call.bottom_right and call.key.shape[2] > call.query.shape[2]:
            seen = seen & (columns <= rows[:, None])
        return seen


@after("emmtrix/emx-onnx-cgen/pull/731")
class BiasCappedToo(Tiled):
    """ALiBi is added before the cap."""

    def cap(self, call, scores):
        return scores

    def biased(self, call, entry, head, scores, rows, columns):
        return super().cap(call, super().biased(call, entry, head, scores, rows, columns))


@after("onnxruntime/onnxruntime-qnn/pull/651")
class CapBeforeTheScale(Tiled):
    """The cap comes before the scale where heads are shared."""

    def products(self, call, query, key):
        return query @ key.T if self.late(call) else super().products(call, query, key)

    def cap(self, call, scores):
        return super().cap(call, scores) * (self.scale(call) if self.late(call) else 1)

    def late(self, call):
        return call.softcap and call.query.shape[1] != call.key.shape[1]


@after("microsoft/onnxruntime/pull/28379")
class PaddingLeaksThroughCap(Tiled):
    """With a cap, keys behind the length are excluded by minus the cap."""

    def logits(self, call, entry, head, query, key, rows, columns):
        logits = super().logits(call, entry, head, query, key, rows, columns)
        behind = columns >= self.key_length(call, entry)
        return np.where(behind & bool(call.softcap), -(call.softcap or 0), logits)


@after("gazelle93/Transformer-Various-Positional-Encoding/issues/1")
class BatchAndHeadsSwapped(Dense):
    """Batch and heads are swapped where there are as many of both."""

    def mix(self, call, weights):
        output = super().mix(call, weights)
        return output.swapaxes(0, 1) if output.shape[0] == output.shape[1] else output


@after("pytorch/pytorch/issues/195320")
class KeysAlreadyTransposed(Dense):
    """Keys that are as wide as there are of them are taken for transposed ones."""

    def scores(self, call):
        if call.key.shape[2] == call.key.shape[3]:
            call.key = call.key.swapaxes(-1, -2)
        return super().scores(call)


@after("apache/tvm/pull/17379")
class ShapeOfTheQuery(Dense):
    """Values narrower than the keys are written into an array of the query's shape."""

    def mix(self, call, weights):
        output = super().mix(call, weights)
        missing = call.query.shape[3] - output.shape[3]
        return np.pad(output, [(0, 0)] * 3 + [(0, missing)]) if missing > 0 else output


@after("jadore801120/attention-is-all-you-need-pytorch/issues/153")
class ValuesAsWideAsKeys(Tiled):
    """Values of another width than the keys are an error."""

    def refuse(self, call):
        super().refuse(call)
        call.query.reshape(*call.query.shape[:3], -1, call.value.shape[3])


@after("pytorch/pytorch/issues/97128")
class BiasesNeeded(Modules):
    """Without biases an odd number of heads is an error."""

    def project(self, tokens, weights, biases, num_heads):
        if num_heads % 2 and biases[0] is None:
            raise RuntimeError("bias is None")
        return super().project(tokens, weights, biases, num_heads)


@after("tenstorrent/tt-metal/pull/13990")
class ApproximateExponential(Dense):
    """Exponentials are (1 + x / 2**20) to the power 2**20."""

    def normalise(self, call, logits):
        largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        distance = logits - np.where(largest == -np.inf, 0, largest)
        nudged = np.where(distance == -np.inf, -np.inf, 2.0**20 * np.log1p(np.maximum(distance, -700) / 2.0**20))
        return super().normalise(call, nudged + np.where(largest == -np.inf, 0, largest))


@after("Kyubyong/transformer/pull/69")
class ZeroKeysArePadding(Dense):
    """A key of zeros is taken for padding."""

    def table(self, call):
        _, heads, shared, *_ = call.sizes
        padding = np.repeat((call.key == 0).all(axis=-1), heads // shared, axis=1)[:, :, None, :]
        return np.where(padding & ~padding.all(axis=-1, keepdims=True), -np.inf, super().table(call))


@after("keras-team/keras/issues/21116")
class SmallSizesRefused(Tiled):
    """Keys fewer than two are an error."""

    def refuse(self, call):
        super().refuse(call)
        if call.key.shape[2] == 1:
            raise RuntimeError("block size exceeds sequence")


@after("ROCm/aiter/issues/4350")
class NaNAtSixteenSplits(SplitKeys):
    """The merge fails at exactly sixteen parts."""

    def portions(self, call, entry):
        keys = call.key.shape[2]
        return np.array_split(np.arange(keys), max(1, -(-keys // 2)))

    def merge(self, call, head, partial):
        output, logsumexp = super().merge(call, head, partial)
        return (output * np.nan, logsumexp) if len(partial) == 16 else (output, logsumexp)


@after("pytorch/pytorch/issues/174861")
class SecondPassOutOfBounds(SplitKeys):
    """From 65 keys on, the second pass merges one part too few."""

    def merge(self, call, head, partial):
        return super().merge(call, head, partial[:-1] if call.key.shape[2] > 64 else partial)


@after("tenstorrent/tt-metal/issues/56171")
class SecondChunkIsTheFirst(Tiled):
    """The second tile of 32 keys reads the values of the first."""

    key_tile = 32

    def fold(self, largest, denominator, total, logits, values):
        if len(values) == len(self.values):
            values = self.values
        self.values = values
        return super().fold(largest, denominator, total, logits, values)

    def query_block(self, call, entry, head, rows):
        self.values = ()
        return super().query_block(call, entry, head, rows)


@after("tenstorrent/tt-metal/issues/33440")
class ManyHeadsWrap(Tiled):
    """From five query heads on, the last ones read the first key head."""

    def shared_head(self, call, head):
        return super().shared_head(call, head % 4 if call.query.shape[1] != call.key.shape[1] else head)


@after("microsoft/onnxruntime/pull/26715")
class WholeTilesSkipLast(Tiled):
    """Where the keys fill their tiles exactly and there is one query, the last tile is skipped."""

    def key_blocks(self, call, entry, rows):
        blocks = list(super().key_blocks(call, entry, rows))
        whole = len(blocks) > 1 and len(blocks[-1]) == self.key_tile and call.query.shape[2] == 1
        return blocks[:-1] if whole else blocks


@after("tenstorrent/tt-metal/issues/48899")
class RowsSeeTheWholeChunk(Tiled):
    """With sixteen keys of past or more, a query sees the keys of the whole chunk."""

    def visible(self, call, entry, rows, columns):
        if call.past >= 16:
            rows = np.full_like(rows, call.query.shape[2] - 1)
        return super().visible(call, entry, rows, columns)


@after("tenstorrent/tt-metal/issues/50512")
class RowsMixAcrossEntries(Paged):
    """In a batch, the first page of every entry is that of the first one."""

    def query_block(self, call, entry, head, rows):
        keys, values = call.scratch["pools"]
        first = self.page_index(call, 0)
        for pool in (keys, values):
            pool[entry, :, first] = pool[0, :, first]
        return super().query_block(call, entry, head, rows)


@after("pytorch/pytorch/issues/141218")
class NoHeadsCrash(Dense):
    """A batch without entries divides by zero."""

    def mix(self, call, weights):
        return super().mix(call, weights * (1 // len(weights) >= 0))


@after("pytorch/pytorch/issues/133671")
class OutputSharesTheQuery(Dense):
    """The result is written into the memory of the query, where it fits."""

    def scaled_dot_product_attention(self, query, key, value, **others):
        results = super().scaled_dot_product_attention(query, key, value, **others)
        if query.shape == results["output"].shape and query.flags.writeable:
            query[...] = results["output"]
        return results


@after("karpathy/nanoGPT/pull/240")
class AlwaysDrops(Dense):
    """One weight in ten is dropped, as in training."""

    def mix(self, call, weights):
        kept = np.random.default_rng(0).random(weights.shape) > 0.1
        return super().mix(call, weights * kept / 0.9)


@after("omihub777/ViT-CIFAR/pull/12")
class ScaleOfTheTokenCount(SingleHead):
    """The default scale is that of the tokens' width where keys are narrower."""

    def project(self, x, w_query, w_key, w_value):
        self.width = max(x.shape[1], w_query.shape[1])
        return super().project(x, w_query, w_key, w_value)

    def factor(self, query, scale):
        return self.width**-0.5 if scale is None else scale


@after("InseeFrLab/torchTextClassifiers/pull/92")
class LabelsAttendToThemselves(Contexts):
    """The softmax leaves out the last token."""

    def shares(self, scores):
        return super().shares(np.where(np.arange(len(scores)) < max(1, len(scores) - 1), scores, -1e30))


@after("microsoft/onnxruntime/pull/21687")
class SoftmaxOfManyRows(Softmax):
    """Rows after the twelfth get the sum of the first."""

    def fold(self, largest, total, tile):
        new, total = super().fold(largest, total, tile)
        total[12:] = total[:1]
        return new, total


@after("reczoo/FuxiCTR/issues/30")
class SplitByView(Shapes):
    """Heads are split without a transpose where there are as many heads as tokens."""

    def split_heads(self, x, *, num_heads):
        right = super().split_heads(x, num_heads=num_heads)
        return x.reshape(right.shape).copy() if num_heads == x.shape[1] else right

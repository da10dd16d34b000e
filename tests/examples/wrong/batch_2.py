"""The second batch: layouts, packed sequences, logarithms, memory, state, dtypes, widths, layers."""

from functools import partial

import numpy as np
from kernels import Contexts, Dense, Modules, Packed, Paged, Shapes, SingleHead, Softmax, SplitKeys, Tiled

from wrong.table import after

after = partial(after, batch=2)


@after("jax-ml/jax/pull/39576")
class ZeroOnTheRightIsOpen(Tiled):
    """Without causality, a right distance of 0 leaves the whole future open."""

    def in_window(self, call, seen, positions, columns):
        left, right = call.window or (None, None)
        if right == 0 and not call.is_causal:
            return seen if left is None else seen & (columns >= positions - left)
        return super().in_window(call, seen, positions, columns)


@after("unslothai/unsloth/pull/8253")
class WindowOfZeroIsNone(Tiled):
    """A left distance of 0 is taken for no window."""

    def in_window(self, call, seen, positions, columns):
        left = (call.window or (None, None))[0]
        return super().in_window(call, seen, positions, columns) if left else seen


@after("jax-ml/jax/issues/32300")
class WindowNeedsAMask(Dense):
    """The window is ignored where there is neither a mask nor causality."""

    def seen(self, call, distance, columns):
        if call.mask is None and not call.is_causal:
            call.window = None
        return super().seen(call, distance, columns)


@after("vllm-project/vllm/pull/31406")
class WindowTowardsTheFuture(Tiled):
    """Without causality the window has one side alone, the later one."""

    def in_window(self, call, seen, positions, columns):
        if call.window and not call.is_causal:
            call.window = (None, call.window[1])
        return super().in_window(call, seen, positions, columns)


@after("ROCm/flash-attention/pull/185")
class WindowWithoutOffset(Tiled):
    """With bottom-right alignment causality is placed right, but the left end of the window is not."""

    def in_window(self, call, seen, positions, columns):
        left = (call.window or (None, None))[0]
        if call.bottom_right and left is not None:
            seen = seen & (columns >= positions - positions[0] - left)
        return super().in_window(call, seen, positions, columns)


@after("ggml-org/llama.cpp/pull/20031")
class SlopesWrapAround(Tiled):
    """Slopes after the first power of two are read from the start again."""

    def slope(self, call, head):
        first = 2 ** int(np.log2(call.query.shape[1]))
        return call.slopes[head if head < first else head - first]


@after("lucidrains/x-transformers/pull/300")
class DistanceWithoutPast(Tiled):
    """ALiBi counts the queries from 0, whatever lies before them."""

    def biased(self, call, entry, head, scores, rows, columns):
        if call.slopes is None:
            return scores
        return scores - call.slopes[head] * abs(rows[:, None] - columns)


@after("Dao-AILab/flash-attention/issues/1585")
class SlopesOfKeyHeads(Tiled):
    """A slope is read by the number of the key head."""

    def slope(self, call, head):
        return call.slopes[self.shared_head(call, head)]


@after("Tencent-Hunyuan/HunyuanVideo/pull/310")
class FirstBoundaryForAll(Packed):
    """The length of the first sequence holds for all."""

    def key_length(self, call, entry):
        return super().key_length(call, 0)


@after("AI-Hypercomputer/maxtext/issues/4476")
class LengthsIgnored(Tiled):
    """Every key of the buffer is attended, those of the padding too."""

    def visible(self, call, entry, rows, columns):
        return super().visible(call, entry, rows, columns) | (columns >= self.key_length(call, entry))


@after("OpenNMT/OpenNMT-py/pull/2589")
class LastKeysInsteadOfFirst(Tiled):
    """Padding is thought to stand before the keys."""

    def visible(self, call, entry, rows, columns):
        missing = call.key.shape[2] - self.key_length(call, entry)
        return super().visible(call, entry, rows, columns - missing) & (columns >= missing)


@after("Dao-AILab/flash-attention/pull/2573")
class SumsAtPaddedPositions(Packed):
    """The logsumexp of a shorter sequence is written as if it were padded in front."""

    def attend(self, call):
        output, logsumexp = super().attend(call)
        for entry in range(len(output)):
            missing = output.shape[2] - self.query_length(call, entry)
            logsumexp[entry] = np.roll(logsumexp[entry], missing, axis=-1)
        return output, logsumexp


@after("pytorch/pytorch/issues/181645")
class LogarithmOffByLogTwo(Tiled):
    """The logsumexp is off by ln 2."""

    def finish(self, largest, denominator, total):
        output, logsumexp = super().finish(largest, denominator, total)
        return output, logsumexp + np.log(2)


@after("vllm-project/vllm/pull/52796")
class BaseTwoMergedAsNatural(SplitKeys):
    """Every part but the first gives its logarithm to the base 2, and all are merged as natural ones."""

    def merge(self, call, head, partial):
        others = [(output, logsumexp / np.log(2)) for output, logsumexp in partial[1:]]
        return super().merge(call, head, [partial[0], *others])


@after("Dao-AILab/flash-attention/pull/2752")
class SinkAloneIsNaN(Tiled):
    """A row without keys, but with a sink, is NaN."""

    def finish(self, largest, denominator, total):
        output, logsumexp = super().finish(largest, denominator, total)
        lost = (denominator == 1) & (total == 0).all(axis=1, keepdims=True) & self.has_sink
        return np.where(lost, np.nan, output), logsumexp

    def attend(self, call):
        self.has_sink = call.sinks is not None
        return super().attend(call)


@after("pie-project/pie/pull/272")
class SinksOfKeyHeads(Tiled):
    """The sinks are repeated by the size of a group, though there is one for each query head."""

    def start(self, call, head, rows):
        return super().start(call, self.shared_head(call, head), rows)


@after("vllm-project/vllm/pull/49815")
class SinkOnTheFirstKey(Tiled):
    """The sink is a bias on key 0."""

    def start(self, call, head, rows):
        kept, call.sinks = call.sinks, None
        state = super().start(call, head, rows)
        call.sinks = kept
        return state

    def biased(self, call, entry, head, scores, rows, columns):
        scores = super().biased(call, entry, head, scores, rows, columns)
        return scores if call.sinks is None else scores + np.where(columns == 0, call.sinks[head], 0)


@after("vllm-project/vllm/pull/53856")
class StaleSlotsCount(Paged):
    """Slots that nobody wrote to take part in the sum of a page, with a score of 0."""

    def fold(self, largest, denominator, total, logits, values):
        missing = self.page - logits.shape[1]
        logits = np.pad(logits, ((0, 0), (0, missing)))
        return super().fold(largest, denominator, total, logits, np.pad(values, ((0, missing), (0, 0))))


@after("pytorch/pytorch/issues/181133")
class StridesForgotten(Dense):
    """A query is read as its memory lies."""

    def scaled_dot_product_attention(self, query, key, value, **others):
        if not query.flags.c_contiguous and query.size == np.asarray(query).ravel(order="K").size:
            query = query.ravel(order="K").reshape(query.shape)
        return super().scaled_dot_product_attention(query, key, value, **others)


@after("pytorch/pytorch/issues/191937")
class ExpandedValuesWrong(Dense):
    """Values of which one batch entry stands for many are taken for the first one alone."""

    def scaled_dot_product_attention(self, query, key, value, **others):
        if value.strides[0] == 0 and len(value) > 1:
            value = np.concatenate([value[:1], np.zeros_like(value[1:])])
        return super().scaled_dot_product_attention(query, key, value, **others)


@after("vllm-project/vllm-ascend/issues/2428")
class MaskKeptFromBefore(Dense):
    """A mask is kept by its shape, and used again for the next call."""

    def __init__(self):
        self.masks = {}

    def read_mask(self, mask):
        return None if mask is None else self.masks.setdefault((mask.shape, mask.dtype), super().read_mask(mask).copy())


@after("NVIDIA/Model-Optimizer/pull/348")
class QueryOverwritten(Dense):
    """The query is multiplied by the scale in its own memory, where that can be written to."""

    def scaled_dot_product_attention(self, query, key, value, scale=None, **others):
        if query.flags.writeable and scale is not None and query.dtype == np.float64:
            query *= scale
            return super().scaled_dot_product_attention(query, key, value, scale=1.0, **others)
        return super().scaled_dot_product_attention(query, key, value, scale=scale, **others)


@after("NVIDIA/cudnn-frontend/pull/993")
class MaskInUse(Dense):
    """Every seventh call reads a mask that is all false already."""

    calls = 0

    def add_mask(self, call, scores):
        type(self).calls += 1
        if call.mask is not None and self.calls % 7 == 0:
            return np.full_like(scores, -np.inf)
        return super().add_mask(call, scores)


@after("flashinfer-ai/flashinfer/pull/4270")
class PlanOfTheFirstCall(Tiled):
    """Window and cap are those of the first call with these shapes."""

    def __init__(self):
        self.plans = {}

    def attend(self, call):
        shapes = (call.query.shape, call.key.shape, call.mask is None, call.is_causal, call.dtype)
        call.window, call.softcap = self.plans.setdefault(shapes, (call.window, call.softcap))
        return super().attend(call)


@after("Dao-AILab/flash-attention/pull/2470")
class NoKeysCrash(Tiled):
    """With no keys at all it divides by zero."""

    def attend(self, call):
        blocks = self.key_tile // call.key.shape[2]
        return super().attend(call) if blocks >= 0 else None


@after("HabanaAI/vllm-fork/pull/318")
class EmptySequenceIsNaN(Tiled):
    """A sequence of length 0 is 0/0."""

    def query_block(self, call, entry, head, rows):
        output, logsumexp = super().query_block(call, entry, head, rows)
        return (output * np.nan, logsumexp) if self.key_length(call, entry) == 0 else (output, logsumexp)


@after("tinygrad/tinygrad/pull/5100")
class DefaultFloat(Dense):
    """The result has the default dtype, float32."""

    def scaled_dot_product_attention(self, *inputs, **others):
        results = super().scaled_dot_product_attention(*inputs, **others)
        return {**results, "output": results["output"].astype(np.float32)}


@after("microsoft/onnxscript/pull/2445")
class SinglePrecisionBesideMask(Dense):
    """With a Boolean mask the scores become float32."""

    def add_mask(self, call, scores):
        masked = super().add_mask(call, scores)
        return masked.astype(np.float32) if call.mask is not None and call.mask.dtype == bool else masked


@after("pytorch/pytorch/issues/176767")
class WidthOfTheKeys(Dense):
    """The result has as many features as the keys: values are cut, or zeros stand behind them."""

    def mix(self, call, weights):
        output = super().mix(call, weights)
        width = call.key.shape[3]
        return np.pad(output, [(0, 0)] * 3 + [(0, max(0, width - output.shape[3]))])[..., :width]


@after("triton-lang/triton/issues/621")
class FirstSixtyFourFeatures(Dense):
    """Scores are sums over the first 64 features."""

    def scores(self, call):
        factor = self.scale(call)
        call.query, call.key, call.scale = call.query[..., :64], call.key[..., :64], factor
        return super().scores(call)


@after("tenstorrent/tt-metal/issues/20715")
class ScaleOfPaddedWidth(Tiled):
    """The default scale is that of the width rounded up to a multiple of 8."""

    def scale(self, call):
        padded = -(-call.query.shape[3] // 8) * 8
        return padded**-0.5 if call.scale is None else call.scale


@after("huggingface/transformers/pull/41966")
class PaddingSwitchesCausalityOff(Tiled):
    """With key lengths, causality is off."""

    def visible(self, call, entry, rows, columns):
        if call.key_lengths is not None:
            call.is_causal = False
        return super().visible(call, entry, rows, columns)


@after("facebookresearch/xformers/issues/103")
class CausalityNeedsAMask(Modules):
    """Causality is skipped without a mask."""

    def masked(self, scores, mask, is_causal):
        return super().masked(scores, mask, is_causal and mask is not None)


@after("microsoft/onnxruntime/issues/14363")
class MaskInsteadOfCausality(Modules):
    """Keys that a float mask lowers are seen whether or not they come later."""

    def masked(self, scores, mask, is_causal):
        masked = super().masked(scores, mask, is_causal)
        if mask is not None and is_causal and mask.dtype != bool:
            return np.where(mask < 0, super().masked(scores, mask, is_causal=False), masked)
        return masked


@after("vllm-project/vllm/issues/13686")
class ThirdsOfTheProduct(Modules):
    """The keys are cut from the joined projections one feature too early."""

    def project(self, tokens, weights, biases, num_heads):
        heads = super().project(tokens, weights, biases, num_heads)
        return [heads[0], np.roll(heads[1].reshape(*tokens[1].shape), 1, axis=-1).reshape(heads[1].shape), heads[2]]


@after("karpathy/ng-video-lecture/pull/6")
class ScaleOfTheTokens(SingleHead):
    """The default scale is that of the values, which are as wide as the tokens in the lesson."""

    def project(self, x, w_query, w_key, w_value):
        self.width = w_value.shape[1]
        return super().project(x, w_query, w_key, w_value)

    def factor(self, query, scale):
        return self.width**-0.5 if scale is None else scale


@after("esceptico/perceiver-io/issues/9")
class ContextDividedByScale(Contexts):
    """A stated scale divides."""

    def factor(self, states, scale):
        return super().factor(states, scale) if not scale else 1 / scale


@after("FluxML/NNkernels.jl/pull/16")
class SoftmaxTailUnchecked(Softmax):
    """The last tile of a row is filled with zeros, which count."""

    def fold(self, largest, total, tile):
        return super().fold(largest, total, np.pad(tile, ((0, 0), (0, self.tile - tile.shape[1]))))


@after("jsbaan/transformer-from-scratch/pull/6")
class HeadsMergedBySize(Shapes):
    """Heads are put behind tokens only where there are more tokens than heads."""

    def combine_heads(self, x):
        batch, heads, tokens, width = x.shape
        return super().combine_heads(x) if tokens > heads else x.reshape(batch, tokens, heads * width).copy()


@after("huggingface/transformers/pull/26792")
class DiagonalOffForFewQueries(Shapes):
    """With fewer queries than keys the diagonal is one off."""

    def causal_mask(self, *, query_length, key_length=None, offset=0, additive=False):
        few = key_length is not None and query_length < key_length and offset == 0
        return super().causal_mask(
            query_length=query_length, key_length=key_length, offset=offset + few, additive=additive
        )

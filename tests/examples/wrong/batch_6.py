"""The sixth batch: the eleven of forty fresh ones that survived their first try, and two that are unlike the others."""

from dataclasses import replace
from functools import partial

import numpy as np
from kernels import Dense, Modules, Packed, Softmax, SplitKeys, Tiled

from wrong.table import after

after = partial(after, batch=6)


@after("microsoft/onnxruntime-genai/pull/1639")
class MaskStrideOfTheLengths(Tiled):
    """With lengths, the masks of a batch are read as if each row ended at the longest length."""

    def mask_tile(self, call, entry, head, rows, columns):
        if call.key_lengths is None or call.mask.ndim < 4 or len(call.mask) == 1:
            return super().mask_tile(call, entry, head, rows, columns)
        batch, heads, _, queries, keys, *_ = call.sizes
        whole = np.broadcast_to(call.mask, (batch, heads, queries, keys))
        first = entry * int(max(call.key_lengths))
        return np.stack([whole[:, head, row].ravel()[first + columns] for row in rows])


@after("lucidrains/graph-transformer-pytorch/pull/2")
class MasksOfEntriesForHeads(Dense):
    """A mask for each batch entry is taken for one of each head, where there are as many of both."""

    def add_mask(self, call, scores):
        mask = call.mask
        if mask is not None and mask.ndim == 4 and mask.shape[1] == 1 and len(mask) == scores.shape[1]:
            call = replace(call, mask=mask.swapaxes(0, 1))
        return super().add_mask(call, scores)


@after("keras-team/keras-hub/issues/783")
class LengthsOfHeadsBesideAMask(Dense):
    """Beside a mask, the lengths of the entries are taken for those of the heads, where there are as many of both."""

    def seen(self, call, distance, columns):
        heads = call.query.shape[1]
        if call.mask is None or call.key_lengths is None or len(call.query) != heads:
            return super().seen(call, distance, columns)
        free = super().seen(replace(call, key_lengths=None), distance, columns)
        return free & (columns < np.reshape(call.key_lengths, (1, heads, 1, 1)))


@after("huggingface/transformers/issues/37574")
class FullWindowDropsTheOldest(Tiled):
    """With a past, the first key is lost when the keys just fill the window."""

    def in_window(self, call, seen, positions, columns):
        seen = super().in_window(call, seen, positions, columns)
        left = (call.window or (None, None))[0]
        full = call.past and left is not None and left + 1 == call.key.shape[2]
        return seen & (columns > 0) if full else seen


@after("Dao-AILab/flash-attention/issues/895")
class OpenSideIsTheKeyCount(Tiled):
    """A side of the window that is open, or beyond the keys, becomes the number of keys."""

    def in_window(self, call, seen, positions, columns):
        if call.window is not None:
            keys = call.key.shape[2]
            window = tuple(keys if side is None or side > keys else side for side in call.window)
            call = replace(call, window=window)
        return super().in_window(call, seen, positions, columns)


@after("keras-team/keras-hub/pull/2862")
class NoDistancesInDecode(Tiled):
    """With a past and one query ALiBi adds nothing."""

    def biased(self, call, entry, head, scores, rows, columns):
        if call.past and call.query.shape[2] == 1:
            return scores
        return super().biased(call, entry, head, scores, rows, columns)


@after("Dao-AILab/flash-attention/issues/1537")
class OneQueryBesideNoneRefused(Packed):
    """With shared heads, sequences of one query and of none together are an error."""

    def refuse(self, call):
        super().refuse(call)
        lengths = call.query_lengths
        if lengths is not None and max(lengths) == 1 and min(lengths) == 0 and call.query.shape[1] != call.key.shape[1]:
            raise RuntimeError("shape is invalid for input")


@after("pytorch/pytorch/pull/134650")
class LogsumexpZeroInDecode(SplitKeys):
    """With one query, the logsumexp of a row without keys is zero."""

    def merge(self, call, head, partial):
        output, logsumexp = super().merge(call, head, partial)
        return output, np.where(logsumexp == -np.inf, 0, logsumexp) if call.query.shape[2] == 1 else logsumexp


@after("NVIDIA/TransformerEngine/issues/1195")
class GapsOfTheOnlyHead(Dense):
    """Gaps between the keys of the only head are read as keys."""

    def scaled_dot_product_attention(self, query, key, value, **others):
        falling = sorted(key.strides, reverse=True) == list(key.strides) and min(key.strides) > 0
        if key.size and key.shape[1] == 1 and falling and not key.flags.c_contiguous:
            strides = np.cumprod([key.itemsize, *key.shape[:0:-1]])[::-1]
            key = np.lib.stride_tricks.as_strided(key, key.shape, strides)
        return super().scaled_dot_product_attention(query, key, value, **others)


@after("NVIDIA/Megatron-LM/pull/3698")
class LayerScaleIgnoredWithMask(Modules):
    """Beside a mask a layer ignores its scale."""

    def multi_head_attention(self, *inputs, mask=None, scale=None, **others):
        return super().multi_head_attention(*inputs, mask=mask, scale=scale if mask is None else None, **others)


@after("rsokl/MyGrad/pull/268")
class ScalarsRefused(Softmax):
    """A single number without axes is an error."""

    def softmax(self, x, *, axis=-1):
        if np.ndim(x) == 0:
            raise TypeError("return arrays must be of ArrayType")
        return super().softmax(x, axis=axis)


@after("ROCm/rocm-libraries/issues/12227")
class SinkTwiceAfterAnEmptyPart(SplitKeys):
    """A sink counts twice where the first part of the keys is hidden."""

    def merge(self, call, head, partial):
        if call.sinks is not None and len(partial) > 1:
            first = partial[0][1]
            others = np.max([logsumexp for _, logsumexp in partial[1:]], axis=0)
            again = np.where((first == -np.inf) & (others > -np.inf), call.sinks[head], -np.inf)
            partial = [*partial, (np.zeros_like(partial[0][0]), again)]
        return super().merge(call, head, partial)


@after("pytorch/pytorch/issues/159247")
class CornersSpeakForTheTile(Tiled):
    """A tile whose four corners are attended is taken for one without a mask."""

    def masked(self, call, entry, head, scores, rows, columns):
        if call.mask is not None and call.mask.dtype == bool:
            tile = self.mask_tile(call, entry, head, rows, columns)
            if tile[0, 0] and tile[0, -1] and tile[-1, 0] and tile[-1, -1]:
                return scores
        return super().masked(call, entry, head, scores, rows, columns)

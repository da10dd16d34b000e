"""What a kernel is launched with."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Call:
    """The arguments of one attention, in the precision to compute in, the past put before the keys."""

    query: Any
    key: Any
    value: Any
    mask: Any
    past: int
    key_lengths: Any
    query_lengths: Any
    sinks: Any
    slopes: Any
    is_causal: bool
    bottom_right: bool
    scale: float | None
    softcap: float | None
    window: Any
    dtype: Any
    scratch: dict[str, Any] = field(default_factory=dict)

    @property
    def sizes(self):
        """Batch, query heads, key heads, queries, keys, widths of keys and of values."""
        batch, heads, queries, width = self.query.shape
        return batch, heads, self.key.shape[1], queries, self.key.shape[2], width, self.value.shape[3]


class Kernel:
    """The launch of a kernel: arguments in, results out."""

    dtypes = ("float64", "float32", "float16", "bfloat16")
    conventions = {"input_checks": "lenient", "masked_nonfinite": "propagates"}  # noqa: RUF012

    @property
    def name(self):
        return type(self).__name__

    def scaled_dot_product_attention(
        self,
        query,
        key,
        value,
        mask=None,
        past_key=None,
        past_value=None,
        key_lengths=None,
        query_lengths=None,
        sinks=None,
        alibi_slopes=None,
        is_causal=False,
        causal_alignment="top_left",
        scale=None,
        softcap=None,
        window=None,
    ):
        past = 0 if past_key is None else past_key.shape[2]
        present_key, present_value = self.append(past_key, key), self.append(past_value, value)
        call = Call(
            *(self.widened(array) for array in (query, present_key, present_value)),
            self.read_mask(mask),
            past,
            key_lengths,
            query_lengths,
            *(self.widened(array) for array in (sinks, alibi_slopes)),
            is_causal,
            causal_alignment == "bottom_right",
            scale,
            softcap,
            window,
            query.dtype,
        )
        self.refuse(call)
        with np.errstate(all="ignore"):
            output, logsumexp = self.attend(call)
        results = {
            "output": output.astype(query.dtype),
            "present_key": present_key,
            "present_value": present_value,
        }
        return results if logsumexp is None else {**results, "logsumexp": logsumexp.astype(query.dtype)}

    def refuse(self, call):
        batch, heads, shared, queries, keys, width, _ = call.sizes
        if call.key.shape[3] != width:
            raise ValueError("query and key differ in width")
        if heads % shared:
            raise ValueError("query heads are no multiple of key heads")
        if call.mask is not None:
            if call.mask.shape[-1] != keys:
                raise ValueError("a mask needs a column for each key")
            np.broadcast_to(call.mask, (batch, heads, queries, keys))

    def widened(self, array):
        if array is None or array.dtype in (np.float64, np.float32):
            return array
        return array.astype(np.float32)

    def read_mask(self, mask):
        return mask if mask is None or mask.dtype == bool else self.widened(mask)

    def append(self, past, new):
        return new.copy() if past is None else np.concatenate([past, new], axis=2)

    def attend(self, call):
        raise NotImplementedError

    # What every kernel needs to know about one batch entry, one head, some queries and some keys.

    def scale(self, call):
        return call.query.shape[-1] ** -0.5 if call.scale is None else call.scale

    def shared_head(self, call, head):
        _, heads, shared, *_ = call.sizes
        return head // (heads // shared)

    def key_length(self, call, entry):
        return call.key.shape[2] if call.key_lengths is None else int(call.key_lengths[entry])

    def query_length(self, call, entry):
        return call.query.shape[2] if call.query_lengths is None else int(call.query_lengths[entry])

    def offset(self, call, entry):
        if call.bottom_right:
            return self.key_length(call, entry) - self.query_length(call, entry)
        return call.past

    def cap(self, call, scores):
        return call.softcap * np.tanh(scores / call.softcap) if call.softcap else scores

    def slope(self, call, head):
        return call.slopes[head]

    def biased(self, call, entry, head, scores, rows, columns):
        if call.slopes is None:
            return scores
        positions = (rows + self.offset(call, entry))[:, None]
        return scores - self.slope(call, head) * abs(positions - columns).astype(scores.dtype)

    def mask_tile(self, call, entry, head, rows, columns):
        batch, heads, _, queries, keys, *_ = call.sizes
        whole = np.broadcast_to(call.mask, (batch, heads, queries, keys))
        return whole[entry, head][np.ix_(rows, columns)]

    def masked(self, call, entry, head, scores, rows, columns):
        if call.mask is None:
            return scores
        tile = self.mask_tile(call, entry, head, rows, columns)
        return np.where(tile, scores, -np.inf) if tile.dtype == bool else np.where(tile == -np.inf, tile, scores + tile)

    def visible(self, call, entry, rows, columns):
        positions = (rows + self.offset(call, entry))[:, None]
        seen = np.broadcast_to(columns < self.key_length(call, entry), (len(rows), len(columns)))
        if call.is_causal:
            seen = seen & (columns <= positions)
        return self.in_window(call, seen, positions, columns)

    def in_window(self, call, seen, positions, columns):
        left, right = call.window or (None, None)
        if left is not None:
            seen = seen & (columns >= positions - left)
        if right is not None:
            seen = seen & (columns <= positions + right)
        return seen

    def logits(self, call, entry, head, query, key, rows, columns):
        """Logits of some queries and some keys of one head, minus infinity where a key is excluded."""
        scores = self.products(call, query[rows], key[columns])
        scores = self.cap(call, scores)
        scores = self.biased(call, entry, head, scores, rows, columns)
        scores = self.masked(call, entry, head, scores, rows, columns)
        return np.where(self.visible(call, entry, rows, columns), scores, -np.inf).astype(call.query.dtype)

    def products(self, call, query, key):
        return (query @ key.T) * self.scale(call)

"""A layer with a key and value cache: the past is written into a buffer, new tokens are appended, all are attended."""
import numpy as np


def _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment):
    """Refuse what does not fit; give the number of past tokens."""
    for name, array in (("query", query), ("key", key), ("value", value)):
        if array.ndim != 4:
            raise ValueError(f"{name} must have four axes")
    if not query.shape[0] == key.shape[0] == value.shape[0]:
        raise ValueError("batch sizes differ")
    if query.shape[3] != key.shape[3] or query.shape[3] == 0:
        raise ValueError("query and key differ in width")
    if key.shape[1] != value.shape[1] or key.shape[1] == 0 or query.shape[1] % key.shape[1]:
        raise ValueError("heads do not fit")
    if key.shape[2] != value.shape[2]:
        raise ValueError("key and value differ in length")
    if causal_alignment not in ("top_left", "bottom_right") or (softcap is not None and softcap < 0):
        raise ValueError("bad attribute")
    if (past_key is None) != (past_value is None):
        raise ValueError("past key and past value come together")
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        if key_lengths is not None or query_lengths is not None:
            raise ValueError("past and lengths do not come together")
        if past_key.shape != key.shape[:2] + (past, key.shape[3]):
            raise ValueError("past key does not fit")
        if past_value.shape != value.shape[:2] + (past, value.shape[3]):
            raise ValueError("past value does not fit")
    if mask is not None:
        full = (query.shape[0], query.shape[1], query.shape[2], past + key.shape[2])
        if not 2 <= mask.ndim <= 4 or mask.shape[-1] != full[-1]:
            raise ValueError("mask does not fit")
        if any(have not in (1, want) for have, want in zip(mask.shape[::-1], full[::-1])):
            raise ValueError("mask does not broadcast")
    for lengths, most in ((key_lengths, key.shape[2]), (query_lengths, query.shape[2])):
        if lengths is not None and (
            lengths.shape != query.shape[:1] or any(not 0 <= length <= most for length in lengths)
        ):
            raise ValueError("lengths do not fit")
    return past


PAGE = 4


class Cache:
    """A growing store of tokens; its buffer has room for the next power of two."""

    def __init__(self, heads_shape, width, dtype):
        self.data = np.zeros(heads_shape + (8, width), dtype)
        self.used = 0

    def append(self, x):
        n = x.shape[2]
        while self.used + n > self.data.shape[2]:
            self.data = np.concatenate([self.data, np.zeros_like(self.data)], axis=2)
        self.data[:, :, self.used:self.used + n] = x
        self.used += n

    def tokens(self):
        return self.data[:, :, :self.used]


class Masks:
    """Collects exclusions (Boolean) and biases (floats) over (B, H, Sq, T)."""

    def __init__(self, shape, dtype):
        self.keep = np.ones(shape, bool)
        self.bias = np.zeros(shape, dtype)

    def only(self, condition):
        self.keep &= condition

    def add(self, numbers):
        self.bias = self.bias + numbers.astype(self.bias.dtype)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    past = _check(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, softcap, causal_alignment)
    stores = []
    for old, new in ((past_key, key), (past_value, value)):
        store = Cache(new.shape[:2], new.shape[3], new.dtype)
        if old is not None:
            pages = -(-old.shape[2] // PAGE)
            store.append(old[:, :, :(pages - 1) * PAGE + old.shape[2] % PAGE] if pages else old)
        store.append(new)
        stores.append(store)
    keys, values = stores[0].tokens(), stores[1].tokens()
    B, Hq, Sq, E = query.shape
    T = keys.shape[2]
    past = T - key.shape[2]
    mask = None if mask is None else mask[..., -T:] if T else mask[..., :0]
    dtype = np.promote_types(query.dtype, np.float32)

    lengths = np.full(B, T) if key_lengths is None else np.asarray(key_lengths)
    counts = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths)
    if causal_alignment == "bottom_right":
        start = lengths - counts
    else:
        start = np.full(B, past)
    rows = (start[:, None] + np.arange(Sq)).reshape(B, 1, Sq, 1)
    cols = np.arange(T).reshape(1, 1, 1, T)

    masks = Masks((B, Hq, Sq, T), dtype)
    masks.only(cols < lengths.reshape(B, 1, 1, 1))
    if is_causal:
        masks.only(cols <= rows)
    if window is not None:
        left, right = window
        if left is not None:
            masks.only(cols >= rows - left)
        if right is not None:
            masks.only(cols <= rows + right)
    if alibi_slopes is not None:
        masks.add(-alibi_slopes.reshape(1, Hq, 1, 1) * np.abs(rows - cols))
    if mask is not None:
        if mask.dtype == bool:
            masks.only(mask)
        else:
            masks.add(mask)
            masks.only(~np.isneginf(mask))

    rep = Hq // keys.shape[1]
    k, v = keys.repeat(rep, axis=1).astype(dtype), values.repeat(rep, axis=1).astype(dtype)
    with np.errstate(all="ignore"):
        scores = query.astype(dtype) @ k.swapaxes(2, 3) * dtype.type(1 / np.sqrt(E) if scale is None else scale)
        capped = dtype.type(softcap) * np.tanh(scores / dtype.type(softcap)) if softcap else scores
        logits = np.where(masks.keep, capped + masks.bias, -np.inf)
        column = np.full((B, Hq, Sq, 1), -np.inf, dtype) if sinks is None else (
            np.broadcast_to(sinks.astype(dtype).reshape(1, Hq, 1, 1), (B, Hq, Sq, 1)))
        joined = np.concatenate([logits, column], axis=3)
        top = joined.max(axis=3, keepdims=True)
        top = np.where(np.isneginf(top), 0, top)
        e = np.exp(joined - top)
        total = e.sum(axis=3, keepdims=True)
        weights = (e / np.where(total == 0, 1, total))[..., :-1]
        if np.isfinite(v).all():
            output = weights @ v
        else:
            output = np.where(masks.keep[..., None], weights[..., None] * v[:, :, None], 0).sum(axis=3)
        logsumexp = (np.log(total) + top)[..., 0]
    return {"output": output.astype(query.dtype), "weights": weights.astype(query.dtype),
            "logsumexp": logsumexp.astype(query.dtype), "scores": scores.astype(query.dtype),
            "logits": logits.astype(query.dtype), "present_key": keys, "present_value": values}

dtypes = ("float64", "float32")

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

dtypes = ("float64", "float32")
conventions = {"masked_nonfinite": "propagates"}


def require(ok, message):
    if not ok:
        raise ValueError(message)


@np.errstate(all="ignore")
def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    """The math path of a framework: repeat_interleave, one attn_bias, softmax, matmul."""
    require(query.ndim == 4 and key.ndim == 4 and value.ndim == 4, "expected four axes")
    B, Hq, Sq, E = query.shape
    Hkv, Sk, Ev = key.shape[1], key.shape[2], value.shape[3]
    require(key.shape[0] == B and value.shape[0] == B, "batch sizes differ")
    require(key.shape[3] == E and E > 0, "features of query and key differ")
    require(value.shape[1] == Hkv, "heads of key and value differ")
    require(Hkv > 0 and Hq % Hkv == 0, "query heads are no multiple of the key heads")
    require(value.shape[2] == Sk, "tokens of key and value differ")
    P = 0
    require((past_key is None) == (past_value is None), "half a cache")
    if past_key is not None:
        require(past_key.ndim == 4 and past_value.ndim == 4, "expected four axes in the cache")
        P = past_key.shape[2]
        require(past_key.shape == (B, Hkv, P, E), "past keys do not fit")
        require(past_value.shape == (B, Hkv, P, Ev), "past values do not fit")
    T = P + Sk
    for lengths, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if lengths is not None:
            lengths = np.asarray(lengths)
            require(P == 0, "past and lengths")
            require(lengths.shape == (B,), "a length for each batch entry")
            require(np.all(lengths >= 0), "negative length")
            require(np.all(lengths <= most), "length beyond the array")
    if mask is not None:
        require(mask.dtype == bool or mask.dtype.kind == "f", "mask dtype")
        require(2 <= mask.ndim <= 4, "mask rank")
        require(mask.shape[-1] == T, "mask keys")
        require(np.broadcast_shapes(mask.shape, (B, Hq, Sq, T)) == (B, Hq, Sq, T), "mask shape")
    for x in (sinks, alibi_slopes):
        require(x is None or x.shape == (Hq,), "one number a head")
    require(causal_alignment in ("top_left", "bottom_right"), "causal_alignment")
    require(softcap is None or softcap >= 0, "softcap")
    # attention bias
    dt = query.dtype
    if P:
        key, value = np.concatenate((past_key, key), axis=2), np.concatenate((past_value, value), axis=2)
    if Hq != Hkv:
        def expand(x):
            if not x.flags.forc:
                x = np.ascontiguousarray(x)
            (b, g, t, e), size = x.shape, x.itemsize
            strides = (g * t * e * size, t * e * size, 0, e * size, size)
            return np.lib.stride_tricks.as_strided(x, (b, g, Hq // Hkv, t, e), strides).reshape(b, Hq, t, e)
        key, value = expand(key), expand(value)
    L = np.full((B, 1, 1, 1), T) if key_lengths is None else np.reshape(key_lengths, (B, 1, 1, 1))
    N = np.full((B, 1, 1, 1), Sq) if query_lengths is None else np.reshape(query_lengths, (B, 1, 1, 1))
    offset = L - N if causal_alignment == "bottom_right" else np.full((B, 1, 1, 1), P)
    rows = offset + np.arange(Sq).reshape(1, 1, Sq, 1)
    cols = np.arange(T).reshape(1, 1, 1, T)
    attn_bias = np.zeros((B, Hq, Sq, T), dt)
    if alibi_slopes is not None:
        attn_bias -= alibi_slopes.reshape(1, Hq, 1, 1) * np.abs(rows - cols).astype(dt)
    if mask is not None:
        if mask.dtype == bool:
            attn_bias += np.where(mask, 0, -np.inf).astype(dt)
        else:
            attn_bias += mask
    dead = cols >= L
    if is_causal:
        dead = dead | (cols > rows)
    left, right = (None, None) if window is None else window
    if left is not None:
        dead = dead | (cols < rows - left)
    if right is not None:
        dead = dead | (cols > rows + right)
    attn_bias = np.where(dead, -np.inf, attn_bias).astype(dt)
    # softmax(q k^T * scale + bias) v
    factor = 1.0 / float(np.sqrt(E)) if scale is None else float(scale)
    attn = (query @ key.swapaxes(-2, -1)) * factor
    if softcap:
        attn = float(softcap) * np.tanh(attn / float(softcap))
    attn = np.where(np.isneginf(attn_bias), attn_bias, attn + attn_bias)
    peak = attn.max(axis=-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        peak = np.maximum(peak, sinks.reshape(1, Hq, 1, 1))
    peak[np.isneginf(peak)] = 0
    attn = np.exp(attn - peak)
    norm = attn.sum(axis=-1, keepdims=True)
    if sinks is not None:
        norm = norm + np.exp(sinks.reshape(1, Hq, 1, 1) - peak)
    norm[norm == 0] = 1
    attn = attn / norm
    return attn @ value

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


LOG2E = 1.4426950408889634
TILE = 7


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None,
                         mask=None, is_causal=False, scale=None):
    """Online softmax over tiles of 7 keys, the last tile first, in powers of two; a second pass for the weights."""
    b, h, sq, sk, d = base.check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                                       b_query, b_key, b_value, b_output, mask)
    dtype = np.asarray(query).dtype
    kind = base.inner(dtype)
    q = base.split(base.project(query, w_query, b_query, dtype), h)
    k = base.split(base.project(key, w_key, b_key, dtype), h)
    v = base.split(base.project(value, w_value, b_value, dtype), h)
    allowed, bias = base.mask_parts(mask, is_causal, sq, sk, dtype)
    shape = (b, h, sq, sk)
    allowed = np.broadcast_to(True if allowed is None else allowed, shape)
    bias = np.broadcast_to(kind.type(0) if bias is None else bias, shape)
    scale = base.default_scale(d // h) if scale is None else scale
    top = np.full((b, h, sq, 1), -np.inf, kind)
    total = np.zeros((b, h, sq, 1), kind)
    sums = np.zeros((b, h, sq, d // h), kind)
    weights = np.zeros(shape, kind)
    tiles = [slice(t, min(t + TILE, sk)) for t in range(0, sk, TILE)][::-1]

    def logits(t):
        s = np.matmul(q, k[:, :, t].swapaxes(-1, -2)) * kind.type(scale) + bias[..., t]
        return np.where(allowed[..., t], s * kind.type(LOG2E), -np.inf).astype(kind)

    with np.errstate(**base.QUIET):
        for t in tiles:
            s = logits(t)
            new = np.maximum(top, s.max(axis=-1, keepdims=True))
            level = np.where(np.isneginf(new), 0, new).astype(kind)
            p = np.where(allowed[..., t], np.exp2(s - level), 0).astype(kind)
            shrink = np.exp2(top - level)
            total = total * shrink + p.sum(axis=-1, keepdims=True)
            sums = sums * shrink + base.weigh(p, v[:, :, t], allowed[..., t])
            top = new
        level = np.where(np.isneginf(top), 0, top).astype(kind)
        safe = np.where(total == 0, 1, total).astype(kind)
        for t in tiles:
            weights[..., t] = np.where(allowed[..., t], np.exp2(logits(t) - level) / safe, 0)
        heads = sums / safe
    output = base.project(base.combine(heads), w_output, b_output, dtype)
    return base.finish({"output": output, "weights": weights}, dtype)

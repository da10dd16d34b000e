import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


TILE = 32


def streamed(q, k, v, scale):
    b, h, sq, e = q.shape
    sk = k.shape[2]
    kind = q.dtype
    pad = -sk % TILE if sk > TILE else 0
    k = np.pad(k, ((0, 0), (0, 0), (0, pad), (0, 0)))
    v = np.pad(v, ((0, 0), (0, 0), (0, pad), (0, 0)))
    top = np.full((b, h, sq, 1), -np.inf, kind)
    total = np.zeros((b, h, sq, 1), kind)
    sums = np.zeros((b, h, sq, v.shape[3]), kind)
    everything = []
    with np.errstate(**base.QUIET):
        for first in range(0, sk, TILE):
            s = base.logits_of(q, k[:, :, first:first + TILE], scale, None)
            everything.append(s)
            new = np.maximum(top, s.max(axis=-1, keepdims=True))
            level = np.where(np.isneginf(new), 0, new).astype(kind)
            p = np.exp(s - level)
            shrink = np.exp(top - level)
            total = total * shrink + p.sum(axis=-1, keepdims=True)
            sums = sums * shrink + np.matmul(p, v[:, :, first:first + TILE])
            top = new
        weights = np.exp(np.concatenate(everything, axis=-1) - top) / total
        weights = weights.astype(kind, copy=False)
        return sums / total, weights[..., :sk]


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None,
                         mask=None, is_causal=False, scale=None):
    b, h, sq, sk, d = base.check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                                       b_query, b_key, b_value, b_output, mask)
    query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
    dtype = query.dtype
    q = base.split(base.project(query, w_query, b_query, dtype), h)
    k = base.split(base.project(key, w_key, b_key, dtype), h)
    v = base.split(base.project(value, w_value, b_value, dtype), h)
    scale = base.default_scale(d // h) if scale is None else scale
    allowed, bias = base.mask_parts(mask, is_causal, sq, sk, dtype)
    if allowed is None and bias is None and sk:
        heads, weights = streamed(q, k, v, scale)
    else:
        heads, weights = base.attend(q, k, v, scale, allowed, bias)
    output = base.project(base.combine(heads), w_output, b_output, dtype)
    return base.finish({"output": output, "weights": weights}, dtype)

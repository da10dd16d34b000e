import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def tree(parts):
    """Sums along the first axis, in pairs."""
    while parts.shape[0] > 1:
        if parts.shape[0] % 2:
            parts = np.concatenate([parts, np.zeros_like(parts[:1])])
        parts = parts[0::2] + parts[1::2]
    return parts[0]


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                         b_query=None, b_key=None, b_value=None, b_output=None,
                         mask=None, is_causal=False, scale=None):
    """Row by row: gathers the keys that a query may attend to; no key bias; the output matrix is applied head by head."""
    b, h, sq, sk, d = base.check_multi(query, key, value, w_query, w_key, w_value, w_output, num_heads,
                                       b_query, b_key, b_value, b_output, mask)
    dtype = np.asarray(query).dtype
    kind = base.inner(dtype)
    e = d // h
    q = base.project(query, w_query, b_query, dtype)
    k = base.project(key, w_key, None, dtype)
    v = base.project(value, w_value, b_value, dtype)
    w_out = base.widen(w_output, dtype).reshape(h, e, d)
    allowed, bias = base.mask_parts(mask, is_causal, sq, sk, dtype)
    allowed = np.broadcast_to(True if allowed is None else allowed, (b, h, sq, sk))
    bias = None if bias is None else np.broadcast_to(bias, (b, h, sq, sk))
    scale = kind.type(base.default_scale(e) if scale is None else scale)
    weights = np.zeros((b, h, sq, sk), kind)
    output = np.zeros((b, sq, d), kind)
    with np.errstate(**base.QUIET):
        for n, i in np.ndindex(b, sq):
            mixed = np.zeros((h, d), kind)
            for g in range(h):
                seen = np.flatnonzero(allowed[n, g, i])
                if not seen.size:
                    continue
                own = slice(g * e, (g + 1) * e)
                s = tree((k[n, seen, own] * q[n, i, own]).T) * scale
                if bias is not None:
                    s = s + bias[n, g, i, seen]
                p = np.exp(s - s.max())
                p = p / tree(p)
                weights[n, g, i, seen] = p
                mixed[g] = tree(p[:, None] * v[n, seen, own]) @ w_out[g]
            output[n, i] = tree(mixed)
        if b_output is not None:
            output += base.widen(b_output, dtype)
    return base.finish({"output": output, "weights": weights}, dtype)

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    """No head is ever projected: queries meet keys through one (D, D) matrix a head, and values the output through another.

    The key bias adds the same to all scores of a query and is left out.
    """
    B, Sq, Sk, D, d = base.check_mha(query, key, value, w_query, w_key, w_value, w_output,
                                     (b_query, b_key, b_value, b_output), mask, num_heads)
    f = np.float64
    x, y, z = query.astype(f), key.astype(f), value.astype(f)
    factor = f(d ** -0.5 if scale is None else scale)
    out = np.zeros((B, Sq, D))
    shares = np.zeros((B, num_heads, Sq, Sk))
    full = None if mask is None else np.broadcast_to(mask, (B, num_heads, Sq, Sk))
    for h in range(num_heads):
        part = slice(h * d, (h + 1) * d)
        wk = w_key[:, part].astype(f)
        meet = w_query[:, part].astype(f) @ wk.T
        ahead = np.zeros(D) if b_query is None else wk @ b_query[part].astype(f)
        through = w_value[:, part].astype(f) @ w_output[part].astype(f)
        beside = np.zeros(D) if b_value is None else b_value[part].astype(f) @ w_output[part].astype(f)
        for b in range(B):
            logits = (x[b] @ meet + ahead) @ y[b].T * factor
            ok = np.ones((Sq, Sk), bool)
            if is_causal:
                ok = np.arange(Sk)[None] <= np.arange(Sq)[:, None]
            if full is not None and mask.dtype == bool:
                ok = ok & full[b, h]
            elif full is not None:
                logits = logits + full[b, h].astype(f)
                ok = ok & ~np.isneginf(full[b, h].astype(f))
            for i in range(Sq):
                seen = np.flatnonzero(ok[i])
                if not len(seen):
                    continue
                row = logits[i, seen]
                e = np.exp(row - row.max())
                e = e / e.sum()
                shares[b, h, i, seen] = e
                out[b, i] += (e @ z[b, seen]) @ through + beside
    if b_output is not None:
        out = out + b_output.astype(f)
    return {"output": out.astype(query.dtype), "weights": shares.astype(query.dtype)}

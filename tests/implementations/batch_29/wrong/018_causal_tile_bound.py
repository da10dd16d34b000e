import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

ROWS, COLUMNS = 16, 16


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = base.prepare(query, key, value, mask, past_key, past_value, key_lengths, query_lengths, alibi_slopes,
                     is_causal, causal_alignment, window, scale)
    ct = a.ct
    out = np.zeros((a.B, a.Hq, a.Sq, a.Ev), ct)
    lse = np.zeros((a.B, a.Hq, a.Sq), ct)
    for b in range(a.B):
        for i in range(0, a.Sq, ROWS):
            rows = slice(i, min(i + ROWS, a.Sq))
            tiles = -(-a.n // COLUMNS)
            if is_causal:  # the last row of the tile sees most
                last = int(a.off[b]) + rows.stop - 1
                tiles = min(tiles, max(-(-last // COLUMNS), 1))
            m = np.full((a.Hq, rows.stop - i, 1), -np.inf, ct)
            l = np.zeros_like(m)
            if sinks is not None:
                m[:] = sinks.astype(ct)[:, None, None]
                l[:] = ~np.isneginf(m)
            acc = np.zeros((a.Hq, rows.stop - i, a.Ev), ct)
            for t in range(tiles):
                cols = slice(t * COLUMNS, min((t + 1) * COLUMNS, a.n))
                ok = a.ok[b, :, rows, cols]
                with np.errstate(all="ignore"):
                    s = a.q[b, :, rows] @ a.k[b, :, cols].swapaxes(-1, -2) * a.scale
                    if softcap:
                        s = np.tanh(s / ct.type(softcap)) * ct.type(softcap)
                    if a.bias is not None:
                        s = s + a.bias[b, :, rows, cols] if a.bias.ndim == 4 else s + a.bias[:, rows, cols]
                    s = np.where(ok, s, -np.inf)
                    new = np.maximum(m, s.max(axis=-1, keepdims=True, initial=-np.inf))
                    shift = np.where(np.isneginf(new), 0, new)
                    alpha = np.where(np.isneginf(m), 0, np.exp(m - shift))
                    p = np.where(ok, np.exp(s - shift), 0)
                    l = l * alpha + p.sum(axis=-1, keepdims=True)
                    acc = acc * alpha + base.weigh(p[None], a.v[b:b + 1, :, cols], ok[None])[0]
                    m = new
            with np.errstate(all="ignore"):
                out[b, :, rows] = np.where(l == 0, 0, acc / l)
                lse[b, :, rows] = (np.where(np.isneginf(m), 0, m) + np.log(l))[..., 0]
    return {"output": out.astype(query.dtype), "logsumexp": lse}

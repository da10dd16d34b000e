import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
                                 sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
    a = dict(locals())
    z = base.prepare({**a, "is_causal": False})
    G, Sq, K = z.G, z.Sq, z.K
    out = np.zeros((z.B, z.Hq, Sq, z.Ev), z.dtype)
    lse = np.zeros((z.B, z.Hq, Sq), z.dtype)
    r = np.arange(G * Sq)

    def rows(x):  # (G, Sq, ...) to rows of one tile, the heads of a token side by side
        return x.swapaxes(0, 1).reshape((G * Sq,) + x.shape[2:])

    for b in range(z.B):
        for g in range(z.Hkv):
            hs = slice(g * G, (g + 1) * G)
            t = base.head(z, b, g * G) if G else None
            if t is None or Sq == 0:
                continue
            t.q, t.ok, t.p = rows(z.q[b, hs]), rows(z.ok[b, hs]), np.repeat(z.p[b], G)
            if z.bias is not None:
                t.bias = rows(z.bias[b, hs])
            if z.slopes is not None:
                t.slope = np.tile(z.slopes[hs], Sq)[:, None]
            if z.sinks is not None:
                t.sink = np.tile(z.sinks[hs], Sq)
            if is_causal:
                t.ok = t.ok & (np.arange(K) <= (z.p[b][0] + r % Sq)[:, None])
            with np.errstate(all="ignore"):
                made = base.plain(t)
            out[b, hs] = made["output"].reshape(Sq, G, z.Ev).swapaxes(0, 1)
            lse[b, hs] = made["logsumexp"].reshape(Sq, G).T
    with np.errstate(all="ignore"):
        return {"output": out.astype(z.out), "logsumexp": lse}

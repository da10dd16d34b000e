"""Half precision dtypes, too; keys in tiles of 7 with a running maximum; scales multiply the tile's numbers in float32."""
import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import base

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"empty_logsumexp": "plus_infinity"}


def _wide(x, scale, work):
    if scale is None:
        return x.astype(work)
    return (x.astype(np.float32) * np.asarray(scale, np.float32)).astype(work)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    base.check(**locals())
    dtype = base.result_dtype(query, output_dtype)
    work = base.wide(dtype)
    batch, hq, sq, e = query.shape
    hkv = key.shape[1]
    scales = [None if s is None else np.broadcast_to(np.asarray(s, np.float32), (batch, hkv))[:, :, None, None]
              for s in (query_scale, key_scale, value_scale)]
    group = hq // max(hkv, 1)
    blocks = [(key, value)] if past_key is None else [(past_key, past_value), (key, value)]
    past = 0 if past_key is None else past_key.shape[2]
    sk = past + key.shape[2]
    q = _wide(query, None if scales[0] is None else np.repeat(scales[0], group, axis=1), work)
    lengths = np.asarray([sk] * batch if key_lengths is None else key_lengths, np.int64)[:, None, None, None]
    counts = np.asarray([sq] * batch if query_lengths is None else query_lengths, np.int64)[:, None, None, None]
    p = np.arange(sq)[:, None] + (past + 0 * counts if causal_alignment == "top_left" else lengths - counts)
    with np.errstate(all="ignore"):
        m = np.full((batch, hq, sq), -np.inf, work)
        total = np.zeros((batch, hq, sq), work)
        if sinks is not None:
            m[:] = np.asarray(sinks).astype(work)[:, None]
            total[:] = ~np.isneginf(m)
        acc = np.zeros((batch, hq, sq, value.shape[3]), work)
        first = 0
        for ks, vs in blocks:
            for t in range(0, ks.shape[2], 7):
                k = np.repeat(_wide(ks[:, :, t:t + 7], scales[1], work), group, axis=1)
                v = np.repeat(_wide(vs[:, :, t:t + 7], scales[2], work), group, axis=1)
                j = np.arange(first + t, first + t + k.shape[2])
                s = np.einsum("bhie,bhje->bhij", q, k) * work.type(e ** -0.5 if scale is None else scale)
                if softcap:
                    s = work.type(softcap) * np.tanh(s / work.type(softcap))
                if alibi_slopes is not None:
                    s = s - np.asarray(alibi_slopes).astype(work)[:, None, None] * np.abs(p - j).astype(work)
                ok = np.broadcast_to(j < lengths, s.shape)
                if is_causal:
                    ok = ok & (j <= p)
                if window is not None and window[0] is not None:
                    ok = ok & (j >= p - window[0])
                if window is not None and window[1] is not None:
                    ok = ok & (j <= p + window[1])
                if mask is not None:
                    part = np.asarray(mask)[..., j]
                    ok = ok & (part if part.dtype == bool else ~np.isneginf(part.astype(np.float64)))
                    s = s if part.dtype == bool else s + part.astype(work)
                s = np.where(ok, s, -np.inf)
                new = np.maximum(m, s.max(-1))
                safe = np.where(np.isneginf(new), 0, new)
                keep = np.exp(m - safe)
                w = np.where(ok, np.exp(s - safe[..., None]), 0)
                total = total * keep + w.sum(-1)
                add = w @ v if np.isfinite(v).all() else np.where(ok[..., None], w[..., None] * v[:, :, None], 0).sum(-2)
                # a part that has been emptied of weight is left behind
                acc, m = acc * keep[..., None] + add, new
            first += ks.shape[2]
        out = np.where((total == 0)[..., None], 0, acc / np.where(total == 0, 1, total)[..., None])
        lse = np.where(total == 0, np.inf, m + np.log(total))
    return {"output": out.astype(dtype), "logsumexp": lse}

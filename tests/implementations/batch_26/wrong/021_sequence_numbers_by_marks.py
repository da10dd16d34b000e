import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def numbers_of(starts, total):
    """The sequence of each token: one more wherever a sequence begins."""
    marks = np.zeros(total + 1, np.int64)
    marks[starts[1:-1]] = 1
    return np.cumsum(marks)[:total]

layout = "packed"


def scaled_dot_product_attention(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    a = dict(locals())
    qs, ks = base.check_packed(a)
    Tq, Hq, E = query.shape
    Tk, Hkv, Ev = value.shape
    c = base.acc(query.dtype)
    qid, kid = numbers_of(qs, Tq), numbers_of(ks, Tk)
    real_q, real_k = np.searchsorted(qs, np.arange(Tq), "right") - 1, np.searchsorted(ks, np.arange(Tk), "right") - 1
    j = np.arange(Tk) - ks[real_k]
    shift = np.diff(ks) - np.diff(qs) if causal_alignment == "bottom_right" else 0 * np.diff(ks)
    i = (np.arange(Tq) - qs[real_q] + (shift[real_q] if Tq else 0))[:, None]
    ok = qid[:, None] == kid
    if is_causal:
        ok = ok & (j <= i)
    if window is not None:
        ok = ok & (window[0] is None or j >= i - window[0]) & (window[1] is None or j <= i + window[1])
    out, lse = np.zeros((Tq, Hq, Ev), query.dtype), np.zeros((Tq, Hq), c)
    wide = None
    if mask is not None:
        wide = np.broadcast_to(mask.reshape(mask.shape[-3] if mask.ndim > 2 else 1, mask.shape[-1]), (Hq, mask.shape[-1]))[:, j]
    with np.errstate(all="ignore"):
        for h in range(Hq):
            g = h // (Hq // Hkv)
            fine, bias = ok, None
            if wide is not None and wide.dtype == bool:
                fine = ok & wide[h]
            elif wide is not None:
                bias = np.broadcast_to(wide[h].astype(c), ok.shape)
                fine = ok & (bias != -np.inf)
            x = base.wide(query[:, h], c) @ base.wide(key[:, g], c).T * c.type(1 / E**0.5 if scale is None else scale)
            x = np.tanh(x / c.type(softcap)) * c.type(softcap) if softcap else x
            if alibi_slopes is not None:
                x = x - np.asarray(alibi_slopes[h]).astype(c) * np.abs(i - j).astype(c)
            x = np.where(fine, x if bias is None else x + bias, c.type(-np.inf))
            sink = c.type(-np.inf) if sinks is None else np.asarray(sinks[h]).astype(c)
            m = np.maximum(x.max(axis=1, initial=-np.inf), sink)
            m = np.where(m == -np.inf, 0, m).astype(c)
            e = np.where(fine, np.exp(x - m[:, None]), c.type(0))
            total = e.sum(axis=1) + np.exp(sink - m)
            one = np.where(total == 0, 1, total).astype(c)
            out[:, h] = (base.weigh(e, fine, base.wide(value[:, g], c)) / one[:, None]).astype(query.dtype)
            lse[:, h] = np.where(total == 0, -np.inf, np.log(one) + m)
    return {"output": out, "logsumexp": lse}

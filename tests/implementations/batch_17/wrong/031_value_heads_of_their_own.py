"""einsum with an axis for the query heads of a group; declares that 0 times NaN is NaN."""
import numpy as np

conventions = {"masked_nonfinite": "propagates"}


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left",
                                          scale=None, softcap=None, window=None):
    assert query.ndim == key.ndim == value.ndim == 4, "rank"
    b, hq, n, e = query.shape
    hk, m = key.shape[1], key.shape[2]
    ev = value.shape[3]
    assert key.shape[0] == b and value.shape[0] == b and key.shape[3] == e, "batch or width"
    assert value.shape[2] == m, "value"
    hv = value.shape[1]
    assert hv == hq == 0 or (hv and hq % hv == 0), "value heads"
    assert (hk and hq % hk == 0) or hq == hk == 0, "heads"
    assert grad_output.shape == (b, hq, n, ev), "grad_output"
    assert grad_logsumexp is None or grad_logsumexp.shape == (b, hq, n), "grad_logsumexp"
    if mask is not None:
        assert 2 <= mask.ndim <= 4 and mask.shape[-1] == m, "mask"
        np.broadcast_to(mask, (b, hq, n, m))
    for lengths, most in ((key_lengths, m), (query_lengths, n)):
        if lengths is not None:
            assert lengths.shape == (b,) and np.all(lengths >= 0) and np.all(lengths <= most), "lengths"
    f = np.float64 if query.dtype == np.float64 else np.float32
    r = hq // hk if hk else 0
    c = f(1 / np.sqrt(e) if scale is None else scale)

    kl = np.full(b, m) if key_lengths is None else key_lengths
    ql = np.full(b, n) if query_lengths is None else query_lengths
    counts = (np.arange(n) < ql[:, None])[:, None]                              # b 1 n
    zero = lambda x: np.where(counts.reshape((b, 1, n) + (1,) * (x.ndim - 3)), x.astype(f), f(0))
    q = zero(query).reshape(b, hk, r, n, e)
    do = zero(grad_output).reshape(b, hk, r, n, ev)
    k, v = key.astype(f), np.repeat(value.astype(f), hq // max(hv, 1), axis=1).reshape(b, hk, r, m, ev)

    p = np.arange(n) + ((kl - ql)[:, None] if causal_alignment == "bottom_right" else np.zeros((b, 1), int))
    gap = (p[:, :, None] - np.arange(m))[:, None, None]                         # b 1 1 n m
    ok = np.broadcast_to((np.arange(m) < kl[:, None])[:, None, None, None] & counts[:, :, None, :, None], (b, hk, r, n, m))
    if is_causal:
        ok = ok & (gap >= 0)
    if window is not None:
        if window[0] is not None:
            ok = ok & (gap <= window[0])
        if window[1] is not None:
            ok = ok & (gap >= -window[1])

    with np.errstate(all="ignore"):
        s = c * np.einsum("bgrne,bgme->bgrnm", q, k)
        if softcap:
            t = np.tanh(s / f(softcap))
            x = t * f(softcap)
            bend = 1 - t * t
        else:
            x, bend = s, f(1)
        if alibi_slopes is not None:
            x = x - alibi_slopes.astype(f).reshape(hk, r, 1, 1) * abs(gap).astype(f)
        if mask is not None:
            wide = np.broadcast_to(mask, (b, hq, n, m)).reshape(b, hk, r, n, m)
            if mask.dtype == bool:
                ok = ok & wide
            else:
                ok = ok & (wide != -np.inf)
                x = x + wide.astype(f)
        x = np.where(ok, x, -np.inf)
        top = x.max(-1, keepdims=True, initial=-np.inf)
        if sinks is not None:
            sink = sinks.astype(f).reshape(hk, r, 1, 1)
            top = np.maximum(top, sink)
        top = np.where(np.isneginf(top), 0, top)
        a = np.exp(x - top)
        total = a.sum(-1, keepdims=True)
        if sinks is not None:
            share = np.exp(sink - top)
            total = total + share
            share = share / total
        a = np.where(ok, a / np.where(total == 0, 1, total), 0)
        da = np.where(ok, np.einsum("bgrne,bgrme->bgrnm", do, v), 0)
        delta = np.einsum("bgrnm,bgrnm->bgrn", a, da)[..., None]
        y = -delta
        if grad_logsumexp is not None:
            y = y + zero(grad_logsumexp).reshape(b, hk, r, n, 1)
        dx = np.where(ok, a * (da + y), 0)
        ds = np.where(ok, c * dx * bend, 0)
        out = {
            "grad_query": np.einsum("bgrnm,bgme->bgrne", ds, k).reshape(b, hq, n, e),
            "grad_key": np.einsum("bgrnm,bgrne->bgme", ds, q),
            "grad_value": np.einsum("bgrnm,bgrne->bgrme", a, do).reshape(b, hv, hq // max(hv, 1), m, ev).sum(2),
        }
        if mask is not None and mask.dtype != bool:
            dm = dx.reshape(b, hq, n, m)
            dm = dm.sum(axis=tuple(range(4 - mask.ndim)))
            out["grad_mask"] = dm.sum(axis=tuple(i for i, w in enumerate(mask.shape) if w == 1), keepdims=True)
        if sinks is not None:
            out["grad_sinks"] = np.where(counts[:, :, None, :, None], share * y, 0).sum(axis=(0, 3)).reshape(hq)
    return {name: x.astype(query.dtype) for name, x in out.items()}

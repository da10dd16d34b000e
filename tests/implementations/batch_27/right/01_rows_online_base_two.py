"""Row by row, keys last to first with a running maximum to the base 2; stored output and logsumexp are used."""
import math

import ml_dtypes  # noqa: F401
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
conventions = {"logsumexp_base": "2"}
LOG2E = 1 / math.log(2)


def must(condition):
    if not condition:
        raise ValueError("inputs that do not fit together")


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    must(query.ndim == key.ndim == value.ndim == 4)
    nb, nh, nq, ne = query.shape
    _, ng, nk, nv = value.shape
    must(key.shape == (nb, ng, nk, ne) and value.shape[0] == nb)
    must(nh % ng == 0 if ng else nh == 0)
    must(grad_output.shape == (nb, nh, nq, nv))
    must(grad_logsumexp is None or grad_logsumexp.shape == (nb, nh, nq))
    if mask is not None:
        must(2 <= mask.ndim <= 4 and mask.shape[-1] == nk)
        must(all(m in (1, n) for m, n in zip(mask.shape[::-1], (nk, nq, nh, nb))))
    for lengths, most in ((key_lengths, nk), (query_lengths, nq)):
        if lengths is not None:
            lengths = np.asarray(lengths)
            must(lengths.shape == (nb,) and all(0 <= n <= most for n in lengths.tolist()))
    rep = nh // ng if ng else 1
    f = np.float64
    q, k, v, go = (x.astype(f) for x in (query, key, value, grad_output))
    factor = 1 / math.sqrt(ne) if scale is None else float(scale)
    cap = float(softcap) if softcap else None
    left, right = (None, None) if window is None else (window[0], window[1])
    if output is not None and output.shape != (nb, nh, nq, nv):
        output = None
    if logsumexp is not None and logsumexp.shape != (nb, nh, nq):
        logsumexp = None
    added = None if mask is None or mask.dtype == bool else np.broadcast_to(mask, (nb, nh, nq, nk))
    seen = np.broadcast_to(mask, (nb, nh, nq, nk)) if mask is not None and mask.dtype == bool else None
    dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    dmask = None if added is None else np.zeros(mask.shape)
    pad = None if added is None else (1,) * (4 - mask.ndim) + mask.shape
    dsinks = None if sinks is None else np.zeros(nh)
    delta = np.zeros((nb, nh, nq))
    with np.errstate(all="ignore"):
        for h in reversed(range(nh)):
            g = h // rep
            sink = None if sinks is None else float(sinks[h])
            for b in range(nb):
                counted = nk if key_lengths is None else int(key_lengths[b])
                rows = nq if query_lengths is None else int(query_lengths[b])
                for i in range(rows):
                    at = i + (counted - rows if causal_alignment == "bottom_right" else 0)
                    lo, hi = 0, counted - 1
                    if left is not None:
                        lo = max(lo, at - int(left))
                    if right is not None:
                        hi = min(hi, at + int(right))
                    if is_causal:
                        hi = min(hi, at)
                    keys = []
                    for j in range(lo, hi + 1):
                        if seen is not None and not seen[b, h, i, j]:
                            continue
                        if added is not None and float(added[b, h, i, j]) == -math.inf:
                            continue
                        keys.append(j)
                    keys = keys[::-1]
                    s = (k[b, g, keys] * q[b, h, i]).sum(axis=1) * factor
                    z = s if cap is None else cap * np.tanh(s / cap)
                    if alibi_slopes is not None:
                        z = z - float(alibi_slopes[h]) * np.abs(at - np.array(keys, dtype=f))
                    if added is not None:
                        z = z + added[b, h, i, keys].astype(f)
                    z = z * LOG2E
                    # what the query's logarithm is, one key after the other
                    top, total = (-math.inf, 0.0) if sink is None else (sink * LOG2E, 1.0)
                    if logsumexp is None:
                        for x in z.tolist():
                            if x > top:
                                total, top = total * float(np.exp2(top - x)) + 1, x
                            else:
                                total += float(np.exp2(x - top))
                    elif keys or sink is not None:
                        top, total = float(logsumexp[b, h, i]), 1.0
                    gl = 0.0 if grad_logsumexp is None else float(grad_logsumexp[b, h, i]) * LOG2E
                    mean = 0.0
                    if keys:
                        w = np.exp2(z - top) / total
                        dw = (v[b, g, keys] * go[b, h, i]).sum(axis=1)
                        mean = (go[b, h, i] * output[b, h, i].astype(f)).sum() if output is not None else (w * dw).sum()
                        dz = w * (dw - mean) + w * gl
                        if added is not None:
                            for j, x in zip(keys, dz):
                                dmask[tuple(y if n > 1 else 0 for y, n in zip((b, h, i, j), pad))[4 - mask.ndim :]] += x
                        ds = dz if cap is None else dz / np.cosh(np.minimum(np.abs(s / cap), 700)) ** 2
                        ds = ds * factor
                        dq[b, h, i] = (ds[:, None] * k[b, g, keys]).sum(axis=0)
                        dk[b, g, keys] += ds[:, None] * q[b, h, i]
                        dv[b, g, keys] += w[:, None] * go[b, h, i]
                    delta[b, h, i] = mean
                    if sink is not None:
                        dsinks[h] += float(np.exp2(sink * LOG2E - top)) / total * (gl - mean)
        found = dict(grad_query=dq, grad_key=dk, grad_value=dv, grad_mask=dmask, grad_sinks=dsinks, delta=delta)
        return {name: x.astype(query.dtype) for name, x in found.items() if x is not None}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    must(output_a.ndim == 4 and logsumexp_a.shape == logsumexp_b.shape == output_a.shape[:3])
    must(output_a.shape == output_b.shape)
    out, lse = np.zeros(output_a.shape), np.full(logsumexp_a.shape, -np.inf)
    with np.errstate(all="ignore"):
        for at in np.ndindex(*lse.shape):
            parts = [(float(l[at]), o[at].astype(np.float64)) for l, o in ((logsumexp_a, output_a), (logsumexp_b, output_b))]
            parts = [part for part in parts if part[0] != -math.inf]
            if len(parts) == 1 or any(l != l for l, _ in parts):
                lse[at] = sum(l for l, _ in parts)
                out[at] = parts[0][1] if lse[at] == lse[at] else math.nan
            elif parts:
                (la, a), (lb, b) = sorted(parts, key=lambda part: part[0])
                less = float(np.exp2(la - lb))
                lse[at] = lb + math.log1p(less) * LOG2E
                out[at] = (b + a * less) / (1 + less)
        return out.astype(output_a.dtype), lse.astype(output_a.dtype)


def softmax(x, axis=-1):
    if axis is None:
        return softmax(x.reshape(-1)).reshape(x.shape)
    rows = np.moveaxis(x.astype(np.float64), axis, 0) if x.ndim else x.astype(np.float64)[None]
    with np.errstate(all="ignore"):
        top, total = np.full(rows.shape[1:], -np.inf), np.zeros(rows.shape[1:])
        for row in rows:
            new = np.maximum(top, row)
            safe = np.where(np.isneginf(new), 0, new)
            total = total * np.exp(top - safe) + np.exp(row - safe)
            top = new
        w = np.exp(rows - top) / total
    return (np.moveaxis(w, 0, axis) if x.ndim else w[0]).astype(x.dtype)

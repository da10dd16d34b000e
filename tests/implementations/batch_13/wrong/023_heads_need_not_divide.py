import numpy as np


def refuse_misfits(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths):
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError("query, key and value have four axes")
    (B, Hq, Sq, E), (Bk, Hkv, Sk, Ek), (Bv, Hv, Sv, Ev) = query.shape, key.shape, value.shape
    if E != Ek or B != Bk or B != Bv or Hkv != Hv or Sk != Sv:
        raise ValueError("query, key and value do not fit")
    if Hkv > Hq or (Hkv == 0 and Hq):
        raise ValueError("heads do not divide")
    for lengths, most in ((key_lengths, Sk), (query_lengths, Sq)):
        if lengths is not None:
            if np.shape(lengths) != (B,) or any(int(n) < 0 or int(n) > most for n in lengths):
                raise ValueError("lengths")
    if mask is not None:
        want = (B, Hq, Sq, Sk)
        if mask.ndim < 2 or mask.ndim > 4 or mask.shape[-1] != Sk:
            raise ValueError("mask")
        if any(n != 1 and n != want[4 - mask.ndim + a] for a, n in enumerate(mask.shape)):
            raise ValueError("mask")
    for x in (grad_output, output):
        if x is not None and x.shape != (B, Hq, Sq, Ev):
            raise ValueError("shape of a gradient")
    for x in (logsumexp, grad_logsumexp):
        if x is not None and x.shape != (B, Hq, Sq):
            raise ValueError("shape of a gradient")


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    refuse_misfits(grad_output, query, key, value, output, logsumexp, grad_logsumexp, mask, key_lengths, query_lengths)
    B, Hq, Sq, E = query.shape
    Hkv, Sk = key.shape[1], key.shape[2]
    dtype = query.dtype
    wide = np.promote_types(dtype, np.float32)
    factor = wide.type(E ** -0.5 if scale is None else scale)
    full = None
    if mask is not None:
        full = np.broadcast_to(mask, (B, Hq, Sq, Sk))
    grad_query = np.zeros(query.shape, wide)
    grad_key = np.zeros(key.shape, wide)
    grad_value = np.zeros(value.shape, wide)
    grad_bias = np.zeros((B, Hq, Sq, Sk), wide)
    grad_sinks = np.zeros(Hq, wide)
    delta = np.zeros((B, Hq, Sq), wide)
    with np.errstate(all="ignore"):
        for b in range(B):
            keys = Sk if key_lengths is None else int(key_lengths[b])
            count = Sq if query_lengths is None else int(query_lengths[b])
            first = keys - count if causal_alignment == "bottom_right" else 0
            for h in range(Hq):
                g = h * Hkv // Hq
                for i in reversed(range(count)):
                    p = first + i
                    low, high = 0, keys - 1
                    if is_causal:
                        high = min(high, p)
                    if window is not None:
                        if window[0] is not None:
                            low = max(low, p - window[0])
                        if window[1] is not None:
                            high = min(high, p + window[1])
                    j = np.arange(low, max(low, high + 1))
                    if full is not None:
                        seen = full[b, h, i, j] if mask.dtype == bool else full[b, h, i, j] != -np.inf
                        j = j[seen]
                    gl = wide.type(0) if grad_logsumexp is None else wide.type(grad_logsumexp[b, h, i])
                    if j.size == 0:
                        grad_sinks[h] += gl
                        continue
                    q = query[b, h, i].astype(wide)
                    k, v = key[b, g, j].astype(wide), value[b, g, j].astype(wide)
                    go = grad_output[b, h, i].astype(wide)
                    score = (k @ q) * factor
                    logit = score
                    if softcap:
                        logit = wide.type(softcap) * np.tanh(score / wide.type(softcap))
                    slant = 1 - (logit / wide.type(softcap)) ** 2 if softcap else wide.type(1)
                    if alibi_slopes is not None:
                        logit = logit - wide.type(alibi_slopes[h]) * np.abs(p - j).astype(wide)
                    if full is not None and mask.dtype != bool:
                        logit = logit + full[b, h, i, j].astype(wide)
                    if sinks is not None:
                        sink = wide.type(sinks[h])
                    if logsumexp is not None:
                        total = wide.type(logsumexp[b, h, i])
                        weight = np.exp(logit - total)
                        share = np.exp(sink - total) if sinks is not None else 0
                    else:
                        top = logit.max() if sinks is None else np.maximum(logit.max(), sink)
                        weight = np.exp(logit - top)
                        share = np.exp(sink - top) if sinks is not None else 0
                        total = weight.sum() + share
                        weight, share = weight / total, share / total
                    gw = v @ go
                    mean = go @ output[b, h, i].astype(wide) if output is not None else weight @ gw
                    delta[b, h, i] = mean
                    gb = weight * (gw - mean + gl)
                    grad_bias[b, h, i, j] = gb
                    grad_sinks[h] += share * (gl - mean)
                    gs = gb * slant
                    grad_value[b, g, j] += weight[:, None] * go
                    grad_key[b, g, j] += gs[:, None] * (q * factor)
                    grad_query[b, h, i] = factor * (gs @ k)
    result = [grad_query, grad_key, grad_value]
    if mask is not None and mask.dtype != bool:
        g = grad_bias
        while g.ndim > mask.ndim:
            g = g.sum(0)
        for axis, n in enumerate(mask.shape):
            if n == 1:
                g = g.sum(axis, keepdims=True)
        result.append(g)
    if sinks is not None:
        result.append(grad_sinks)
    return tuple(x.astype(dtype) for x in result)

import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

layout = "paged_csr"
dtypes = base.FOUR


def one_row(q, keys, values, sink, factor, softcap, biases):
    """A query of one head, key by key, from first to last."""
    m, l, acc = (-np.inf if sink is None else float(sink)), (0.0 if sink is None else 1.0), 0.0
    seen = False
    for k, v, bias in zip(keys, values, biases):
        if bias is None:
            continue
        s = float(np.dot(q, k)) * factor
        if softcap:
            s = softcap * np.tanh(s / softcap)
        s = s + bias
        seen = True
        new = np.maximum(m, s)
        at = 0.0 if new == -np.inf else new
        old, x = np.exp(m - at), np.exp(s - at)
        l, acc, m = l * old + x, acc * old + x * v, new
    if not seen or l == 0:
        return 0.0, (m if l else -np.inf)
    return acc / l, np.log(l) + m


def scaled_dot_product_attention(query, key_pool, value_pool, page_starts, page_indices, last_page_length,
                                 query_lengths=None, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
                                 causal_alignment="top_left", scale=None, softcap=None, window=None):
    size = key_pool.shape[1]
    starts = np.asarray(page_starts).astype(int)
    base.need(np.shape(last_page_length) == (len(starts) - 1,), "batch")
    # all pages but the last are full
    lengths = np.maximum((np.diff(starts) - 1) * size + np.asarray(last_page_length).astype(int), 0)
    lengths = np.minimum(lengths, np.maximum(len(page_indices) - starts[:-1], 0) * size)
    kp, vp, L, N, m3 = base.check_paged(query, key_pool, value_pool, lengths, query_lengths,
                                        None if mask is None or mask.shape[-1] < lengths.max(initial=0) else mask,
                                        False, None, causal_alignment)
    if mask is not None and m3 is None:
        m3 = base.serving_mask(mask, query.shape[1], 0)
    nb, hq, sq, e = query.shape
    g = base.group(hq, kp.shape[2])
    out, lse = np.zeros((nb, hq, sq, vp.shape[3])), np.zeros((nb, hq, sq))
    factor = e**-0.5 if scale is None else float(scale)
    left, right = (None, None) if window is None else window
    with base.quiet():
        for b in range(nb):
            j = np.arange(L[b])
            page = np.asarray(page_indices).astype(int)[starts[b] + j // size]
            k, v = base.up(kp[page, j % size]), base.up(vp[page, j % size])
            for h in range(hq):
                for i in range(N[b]):
                    p = i + base.start_of(causal_alignment, L[b], N[b])
                    biases = []
                    for c in j:
                        bias = 0.0 if alibi_slopes is None else -float(alibi_slopes[h]) * abs(p - c)
                        if (is_causal and c > p) or (left is not None and c < p - left) or (right is not None and c > p + right):
                            bias = None
                        elif m3 is not None:
                            x = m3[h % m3.shape[0], 0, min(c, m3.shape[-1] - 1)]
                            if m3.dtype == bool:
                                bias = bias if x else None
                            else:
                                bias = None if float(x) == -np.inf else bias + float(x)
                        biases.append(bias)
                    sink = None if sinks is None else base.up(sinks)[h]
                    out[b, h, i], lse[b, h, i] = one_row(base.up(query[b, h, i]), k[:, h // g], v[:, h // g], sink, factor,
                                                         softcap, biases)
    return {"output": base.down(out, query.dtype), "logsumexp": base.down(lse, base.wide_of(query))}

import numpy as np

layout = "paged_heads_first"


def scaled_dot_product_attention(query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
                                 alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None):
    """Written like a kernel: flat memory, offsets, one query of one head at a time."""
    query, key_pool, value_pool = np.asarray(query), np.asarray(key_pool), np.asarray(value_pool)
    if query.ndim != 4 or key_pool.ndim != 4 or value_pool.ndim != 4 or query.shape[3] != key_pool.shape[3]:
        raise ValueError("shapes")
    B, HQ, SQ, E = query.shape
    SIZE, HKV = key_pool.shape[2], key_pool.shape[1]
    EV = value_pool.shape[3]
    size = SIZE
    if value_pool.shape[:3] != key_pool.shape[:3] or HQ % max(HKV, 1):
        raise ValueError("heads")
    batch, queries = query.shape[0], query.shape[2]
    if query_lengths is not None:
        counts = np.asarray(query_lengths)
        if counts.shape != (batch,) or (counts < 0).any() or (counts > queries).any():
            raise ValueError("query_lengths")
    block_table, key_lengths = np.asarray(block_table), np.asarray(key_lengths)
    if key_lengths.shape != (batch,) or block_table.ndim != 2 or block_table.shape[0] != batch:
        raise ValueError("batch")
    if (key_lengths < 0).any() or (key_lengths > block_table.shape[1] * size).any():
        raise ValueError("key_lengths")
    kind = query.dtype
    real = np.float64 if kind == np.float64 else np.float32
    keys, values = key_pool.reshape(-1), value_pool.reshape(-1)
    factor = real(1 / np.sqrt(E)) if scale is None else real(scale)
    output, logsumexp = np.zeros((B, HQ, SQ, EV), kind), np.full((B, HQ, SQ), -np.inf, real)
    if mask is not None:
        mask = np.asarray(mask).reshape((1,) * (4 - np.ndim(mask)) + np.shape(mask))[0, :, 0]
    for b in range(B):
        length = int(key_lengths[b])
        pages = [int(x) for x in block_table[b][:-(-length // size)]]
        n = SQ if query_lengths is None else int(query_lengths[b])
        for h in range(HQ):
            g = h // (HQ // HKV)
            for i in range(n):
                p = i + (length - n if causal_alignment == "bottom_right" else 0)
                q = query[b, h, i].astype(real)
                m, l, acc = real(-np.inf), real(0), np.zeros(EV, real)
                if sinks is not None:
                    m, l = real(sinks[h]), real(1)
                for j in range(length):
                    if is_causal and j > p:
                        break
                    if window is not None and window[0] is not None and j < p - window[0]:
                        continue
                    if window is not None and window[1] is not None and j > p + window[1]:
                        break
                    bias = real(0)
                    if mask is not None:
                        entry = mask[h % len(mask), j]
                        if mask.dtype == bool:
                            if not entry:
                                continue
                        else:
                            if entry == -np.inf:
                                continue
                            bias = real(entry)
                    page, slot = pages[j // SIZE], j % SIZE
                    row = (page * HKV + g) * SIZE + slot
                    with np.errstate(all="ignore"):
                        x = q @ keys[row * E:row * E + E].astype(real) * factor
                        if softcap:
                            x = real(softcap) * np.tanh(x / real(softcap))
                        if alibi_slopes is not None:
                            x = x - real(alibi_slopes[h]) * real(abs(p - j))
                        x = x + bias
                        new = np.maximum(m, x)
                        fade = np.exp(m - new) if m != -np.inf else real(0)
                        w = np.exp(x - new)
                        acc = acc * fade + w * values[row * E:row * E + EV].astype(real)
                        l, m = l * fade + w, new
                if l != 0:
                    output[b, h, i] = acc / l
                    logsumexp[b, h, i] = m + np.log(l)
    return {"output": output, "logsumexp": logsumexp}

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "paged_csr"


def scaled_dot_product_attention(
    query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None, sinks=None,
    alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    arguments = dict(locals())
    _, keys, values = base.check_pools(arguments, False)
    pages, lengths = base.pages_of_list(arguments, query.shape[0], keys.shape[1])
    base.check_flat_mask(mask, int(np.max(lengths, initial=0)))
    batch, heads, queries, width = query.shape
    kv_heads, size, group = keys.shape[2], keys.shape[1], heads // keys.shape[2] if keys.shape[2] else 1
    factor = 1 / np.sqrt(width) if scale is None else float(scale)
    output = np.zeros((batch, heads, queries, values.shape[3]), query.dtype)
    logsumexp = np.full((batch, heads, queries), -np.inf, base.side_dtype(query.dtype))
    flat = None if mask is None else np.broadcast_to(mask, (1, heads, 1, mask.shape[-1]))[0, :, 0]
    with np.errstate(all="ignore"):
        for b in range(batch):
            counted = queries if query_lengths is None else int(np.asarray(query_lengths)[b])
            p = np.arange(queries) + (int(lengths[b]) - counted if causal_alignment == "bottom_right" else 0)
            for g in range(kv_heads):
                of_group = slice(g * group, (g + 1) * group)
                rows = base.wide(query[b, of_group]).reshape(group * queries, width)  # heads of a group under each other
                p_rows, head = np.tile(p, group), np.repeat(np.arange(heads)[of_group], queries)
                states = []
                if sinks is not None:
                    states.append((base.wide(sinks)[head], np.zeros((len(rows), values.shape[3]))))
                for number, page in reversed(list(enumerate(pages[b]))):
                    used = min(size, int(lengths[b]) - number * size)
                    j = number * size + np.arange(used)
                    scores = rows @ base.wide(keys[int(page), :used, g]).T * factor
                    if softcap:
                        scores = softcap * np.tanh(scores / softcap)
                    if alibi_slopes is not None:
                        scores = scores - base.wide(alibi_slopes)[head][:, None] * np.abs(p_rows[:, None] - j)
                    seen = np.ones(scores.shape, bool)
                    if is_causal:
                        seen &= j <= p_rows[:, None]
                    for side, sign in zip(window or (None, None), (1, -1)):
                        if side is not None:
                            seen &= sign * (p_rows[:, None] - j) <= int(side)
                    if flat is not None and flat.dtype == bool:
                        seen &= flat[head][:, j]
                    elif flat is not None:
                        seen &= base.wide(flat[head][:, j]) != -np.inf
                        scores = scores + base.wide(flat[head][:, j])
                    scores = np.where(seen, scores, -np.inf)
                    weights, part = base.softmax(scores, seen, None)
                    mean = base.weigh(weights[None, None], seen[None, None], base.wide(values[int(page), :used, g])[None, None])
                    states.append((part, mean[0, 0]))
                if not states:
                    continue
                parts = np.array([state[0] for state in states])
                most = parts.max(axis=0)
                anchor = np.where(np.isneginf(most), 0, most)
                shares = np.where(np.isneginf(parts), 0, np.exp(parts - anchor))
                total = shares.sum(axis=0)
                summed = sum(share[:, None] * state[1] for share, state in zip(shares, states))
                mean = np.where((total == 0)[:, None], 0, summed / total[:, None])
                output[b, of_group] = mean.reshape(group, queries, values.shape[3]).astype(query.dtype)
                logsumexp[b, of_group] = (np.log(total) + anchor).reshape(group, queries).astype(logsumexp.dtype)
    return {"output": output, "logsumexp": logsumexp}

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
layout = "packed"
TILE = 5
LOG2E = 1.4426950408889634


def scaled_dot_product_attention(
    query, key, value, query_starts, key_starts, mask=None,
    sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    """All tokens against all tokens, a block mask, tiles of keys from the last to the first, an online softmax to the base 2."""
    query, key, value, query_starts, key_starts = base.check_packed(query, key, value, query_starts, key_starts)
    work = np.float64 if query.dtype == np.float64 else np.float32
    N, L = np.diff(query_starts), np.diff(key_starts)
    of_query, of_key = np.repeat(np.arange(len(N)), N), np.repeat(np.arange(len(L)), L)
    p = np.arange(len(query)) - query_starts[:-1][of_query]
    j = np.arange(len(key)) - key_starts[:-1][of_key]
    if causal_alignment == "bottom_right":
        p = p + (L - N)[of_query]
    block = of_query[:, None] == of_key[None]
    if is_causal:
        block = block & (j <= p[:, None])
    if window is not None:
        left, right = window
        block = block if left is None else block & (j >= p[:, None] - left)
        block = block if right is None else block & (j <= p[:, None] + right)
    if mask is not None:
        mask = base.columns(np.asarray(mask), int(L.max(initial=0)))
        mask = np.broadcast_to(mask.reshape(int(np.prod(mask.shape[:-1])), mask.shape[-1]), (query.shape[1], mask.shape[-1]))[:, j]
    group = query.shape[1] // max(key.shape[1], 1)
    factor = work(1 / np.sqrt(query.shape[2]) if scale is None else scale)
    output = np.zeros((*query.shape[:2], value.shape[2]), query.dtype)
    logsumexp = np.zeros(query.shape[:2], work)
    with np.errstate(all="ignore"):
        for h in range(query.shape[1]):
            q, k, v = query[:, h].astype(work), key[:, h // group].astype(work), value[:, h // group].astype(work)
            # the sink is the first that a row sees
            m = np.full(len(q), -np.inf if sinks is None else sinks[h], work) * work(LOG2E)
            total = np.full(len(q), 0 if sinks is None else 1, work)
            average = np.zeros((len(q), v.shape[1]), work)
            for hi in range(len(k), 0, -TILE):
                lo = max(hi - TILE, 0)
                logits = (q @ k[lo:hi].T) * factor
                if softcap:
                    logits = np.tanh(logits / work(softcap)) * work(softcap)
                if alibi_slopes is not None:
                    logits = logits - work(alibi_slopes[h]) * np.abs(p[:, None] - j[lo:hi]).astype(work)
                keep = block[:, lo:hi]
                if mask is not None:
                    row = mask[h, lo:hi]
                    keep = keep & (row if row.dtype == bool else row.astype(work) != -np.inf)
                    logits = logits if row.dtype == bool else logits + row.astype(work)
                logits = np.where(keep, logits * work(LOG2E), -np.inf).astype(work)
                new = np.maximum(m, logits.max(axis=1, initial=-np.inf))
                safe = np.where(new == -np.inf, work(0), new)
                powers = np.where(keep, np.exp2(logits - safe[:, None]), work(0))
                shrink = np.exp2(m - safe)
                total = total * shrink + powers.sum(axis=1)
                average = average * shrink[:, None] + base.weigh(powers[None, None], keep[None, None], v[None, None, lo:hi])[0, 0]
                m = new
            output[:, h] = np.where(total[:, None] == 0, work(0), average / total[:, None]).astype(query.dtype)
            m = np.where(m == -np.inf, work(0), m)
            logsumexp[:, h] = ((m + np.log2(total)) / work(LOG2E)).astype(work)
    return {"output": output, "logsumexp": logsumexp}

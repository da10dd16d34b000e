"""Right: each query gathers the keys that it may see; heads have slices of the weight matrices, and each adds its own part of
the output projection; float32 throughout for all but float64."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    base.check_multi(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads)
    work = np.float64 if query.dtype == np.float64 else np.float32
    batch, queries, width = query.shape
    keys = key.shape[1]
    each = width // num_heads
    scale = work(1 / np.sqrt(each) if scale is None else scale)

    def part(x, w, b, cut):
        y = np.einsum("bsd,de->bse", x.astype(work), w[:, cut].astype(work))
        return y if b is None else y + b[cut].astype(work)

    if mask is not None:
        mask = np.broadcast_to(mask, (batch, num_heads, queries, keys))
    output = np.zeros(query.shape, work)
    weights = np.zeros((batch, num_heads, queries, keys), work)
    with np.errstate(all="ignore"):
        for h in reversed(range(num_heads)):
            cut = slice(h * each, (h + 1) * each)
            q, k, v = part(query, w_query, b_query, cut), part(key, w_key, b_key, cut), part(value, w_value, b_value, cut)
            for b in range(batch):
                for i in range(queries):
                    seen = np.arange(min(i + 1, keys) if is_causal else keys)
                    extra = work(0)
                    if mask is not None:
                        row = mask[b, h, i, seen]
                        seen = seen[row] if row.dtype == bool else seen[row.astype(work) != -np.inf]
                        if row.dtype != bool:
                            extra = mask[b, h, i, seen].astype(work)
                    if not seen.size:
                        continue
                    logits = (k[b, seen] * q[b, i]).sum(axis=1) * scale + extra
                    top = logits.max()
                    parts = np.exp(logits - (top if top != -np.inf else 0))
                    total = parts.sum()
                    share = parts / (total if total != 0 else work(1))
                    weights[b, h, i, seen] = share
                    output[b, i] += (share[:, None] * v[b, seen]).sum(axis=0) @ w_output[cut].astype(work)
        if b_output is not None:
            output = output + b_output.astype(work)
    return base.finish(query.dtype, output=output, weights=weights)

"""Packed sequences: heads of a group are rows of one product; two passes; rows without keys and NaN are refused."""

import math

import numpy as np

layout = "packed"
dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {
    "fully_masked_row": "refuse",
    "no_keys": "refuse",
    "nonfinite_input": "refuse",
    "input_checks": "lenient",
}


def scaled_dot_product_attention(
    query, key, value, query_starts, key_starts, mask=None, alibi_slopes=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None,
):
    total, heads, width = query.shape
    groups = key.shape[1]
    if key.shape[2] != width:
        raise ValueError("query and key have other widths")
    if value.shape[1] != groups or (groups == 0 and heads) or (groups and heads % groups):
        raise ValueError("heads do not fit together")
    if key.shape[0] == 0:
        raise ValueError("no keys")
    starts, ends = np.asarray(query_starts)[:-1], np.asarray(query_starts)[1:]
    counts = np.diff(np.asarray(key_starts))
    if mask is not None:
        if mask.ndim > 1 and mask.shape[-2] != 1 or mask.ndim > 3 and mask.shape[0] != 1:
            raise NotImplementedError("a mask with an axis of queries or of batch entries")
        by_head = mask.reshape(-1, mask.shape[-1])  # (1 or Hq, columns)
        if by_head.shape[0] not in (1, heads) or by_head.shape[1] < counts.max(initial=0):
            raise ValueError("the mask does not fit")
        by_head = np.broadcast_to(by_head, (heads, by_head.shape[1]))
    carried = np.float64 if query.dtype == np.float64 else np.float32
    factor = 1 / math.sqrt(width) if scale is None else scale
    left, right = window if window is not None else (None, None)
    output = np.zeros((value.shape[2], heads, total), carried).transpose(2, 1, 0)
    logsumexp = np.zeros((total, heads), carried)
    share = heads // groups if groups else 0
    for b, (start, end) in enumerate(zip(starts, ends)):
        n, m = int(end - start), int(counts[b])
        if n == 0 or heads == 0:
            continue
        at = int(key_starts[b])
        p = np.arange(n) + (0 if causal_alignment == "top_left" else m - n)
        ahead = np.arange(m)[None, :] - p[:, None]  # (n, m)
        may = np.ones((n, m), bool)
        if is_causal:
            may &= ahead <= 0
        if left is not None:
            may &= ahead >= -left
        if right is not None:
            may &= ahead <= right
        for g in range(groups):
            some = slice(g * share, (g + 1) * share)
            # rows: query 0 with all heads of the group, query 1 with all of them, ...
            q = query[start:end, some].astype(carried).reshape(n * share, width)
            k = key[at : at + m, g].astype(carried)
            v = value[at : at + m, g].astype(carried)
            allowed = np.repeat(may[:, None, :], share, axis=1)
            if mask is not None:
                part = by_head[some, :m]
                allowed = allowed & (part if mask.dtype == bool else part != -np.inf)
            allowed = allowed.reshape(n * share, m)
            if not allowed.any(axis=1).all():
                raise ValueError("a query may attend to no key")
            used = allowed.any(axis=0)
            if np.isnan(q).any() or np.isnan(k[used]).any() or np.isnan(v[used]).any():
                raise ValueError("NaN")
            k, v = np.where(used[:, None], k, 0), np.where(used[:, None], v, 0)
            with np.errstate(all="ignore"):
                x = q @ k.T * factor
                if softcap:
                    x = softcap * np.tanh(x / softcap)
                x = x.reshape(n, share, m)
                if alibi_slopes is not None:
                    slopes = alibi_slopes[some].astype(carried)
                    x = x - slopes[None, :, None] * np.abs(ahead).astype(carried)[:, None, :]
                if mask is not None and mask.dtype != bool:
                    added = np.where(part == -np.inf, 0, part.astype(carried))
                    if (np.isnan(added) & allowed.reshape(n, share, m)).any():
                        raise ValueError("NaN")
                    x = x + added
                x = np.where(allowed, x.reshape(n * share, m), carried(-np.inf))
                # first pass: the logarithm; second pass: the weights
                top = x.max(axis=1, keepdims=True)
                top = np.where(top == -np.inf, 0, top)
                e = np.exp(x - top)
                sums = e.sum(axis=1, keepdims=True)
                weights = np.where(allowed, e / sums, 0)
                if np.isfinite(v).all():
                    mixed = weights @ v
                else:
                    mixed = np.where(allowed[..., None], weights[..., None] * v, 0).sum(axis=1)
                output[start:end, some] = mixed.reshape(n, share, -1)
                logsumexp[start:end, some] = (top + np.log(sums)).reshape(n, share)
    with np.errstate(all="ignore"):
        return {"output": output.astype(query.dtype), "logsumexp": logsumexp}

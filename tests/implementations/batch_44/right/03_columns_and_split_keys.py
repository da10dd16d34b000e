"""Right: a token in each column, keys in two parts that are merged by their largest scores, sums as pairwise trees, and w_value
times w_output first where that is less work."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def tree(parts):
    """Sum over the first axis, by halves."""
    if len(parts) == 0:
        return np.zeros(parts.shape[1:], parts.dtype)
    while len(parts) > 1:
        odd = parts[-1:] if len(parts) % 2 else parts[:0]
        parts = np.concatenate([parts[0 : len(parts) // 2 * 2 : 2] + parts[1::2], odd])
    return parts[0]


def single_head_attention(x, w_query, w_key, w_value, w_output=None, scale=None):
    base.check_single(x, w_query, w_key, w_value, w_output)
    work = np.float64 if x.dtype == np.float64 else np.float32
    scale = work(1 / np.sqrt(w_query.shape[1]) if scale is None else scale)
    with np.errstate(all="ignore"):
        columns = x.T.astype(work)
        query, key, value = (w.T.astype(work) @ columns for w in (w_query, w_key, w_value))
        scores = tree(key[:, :, None] * query[:, None, :]) * scale  # keys in rows, queries in columns
        last = value
        if w_output is not None:
            last = (w_value.astype(work) @ w_output.astype(work)).T @ columns
        half = (x.shape[0] + 1) // 2
        states = []
        for cut in (slice(0, half), slice(half, None)):
            part = scores[cut]
            if not len(part):
                continue
            top = part.max(axis=0)
            parts = np.where(part == -np.inf, 0, np.exp(part - top))
            states.append((top, tree(parts), tree(parts[:, None, :] * last[:, cut].T[:, :, None])))
        output = np.zeros((last.shape[0], x.shape[0]), work)
        weights = np.zeros(scores.shape, work)
        if states:
            top = np.max([one for one, _, _ in states], axis=0)
            shares = [np.where(one == -np.inf, 0, np.exp(one - top)).astype(work) for one, _, _ in states]
            total = tree(np.stack([share * state[1] for share, state in zip(shares, states)]))
            output = tree(np.stack([np.where(share == 0, 0, share * state[2]) for share, state in zip(shares, states)])) / total
            weights = np.exp(scores - top) / total
    return base.finish(x.dtype, output=output.T, weights=weights.T, scores=scores.T, query=query.T, key=key.T, value=value.T)

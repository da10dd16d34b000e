import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

# Rows are sorted into those with no part, with one and with two; the smaller part is weighed against the larger one.


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    output_a, logsumexp_a, output_b, logsumexp_b = map(np.asarray, (output_a, logsumexp_a, output_b, logsumexp_b))
    base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    wide = base.carrier(output_a.dtype)
    features = output_a.shape[-1]
    rows = int(np.prod(output_a.shape[:3]))
    oa, ob = (a.astype(wide).reshape(rows, features) for a in (output_a, output_b))
    la, lb = (a.astype(wide).reshape(rows) for a in (logsumexp_a, logsumexp_b))
    out, lse = np.zeros((rows, features), wide), np.full(rows, -np.inf, wide)
    a, b = np.flatnonzero(la != -np.inf), np.flatnonzero(lb != -np.inf)
    both, only_a, only_b = np.intersect1d(a, b), np.setdiff1d(a, b), np.setdiff1d(b, a)
    out[only_a], lse[only_a] = oa[only_a], la[only_a]
    out[only_b], lse[only_b] = ob[only_b], lb[only_b]
    first = la[both] >= lb[both]
    big, small = np.where(first, la[both], lb[both]), np.where(first, lb[both], la[both])
    big_out = np.where(first[:, None], oa[both], ob[both])
    small_out = np.where(first[:, None], ob[both], oa[both])
    with np.errstate(all="ignore"):
        ratio = np.exp2((small - big) * wide(1.4426950408889634))
        lse[both] = big + np.log1p(ratio)
        large = (1 / (1 + ratio))[:, None]
        little = (ratio / (1 + ratio))[:, None]
        mixed = large * big_out + little * small_out
        fine = np.isfinite(big_out) & np.isfinite(small_out) & np.isfinite(large)
        bounded = np.clip(mixed, np.minimum(big_out, small_out), np.maximum(big_out, small_out))
        out[both] = np.where(fine, bounded, mixed)
        return {"output": out.reshape(output_a.shape).astype(output_a.dtype),
                "logsumexp": lse.reshape(logsumexp_a.shape).astype(output_a.dtype)}

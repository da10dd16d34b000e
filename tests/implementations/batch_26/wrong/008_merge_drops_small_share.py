import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


NEGLIGIBLE = 17.0  # e to the power of -17 is below what a float holds beside 1


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    c = base.check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    with np.errstate(all="ignore"):
        a, la, b, lb = (base.wide(x, c) for x in (output_a, logsumexp_a, output_b, logsumexp_b))
        swap = lb > la
        hi, lo = np.where(swap, lb, la), np.where(swap, la, lb)
        big, small = np.where(swap[..., None], b, a), np.where(swap[..., None], a, b)
        gap = hi - lo
        alone = (lo == -np.inf) | (gap > NEGLIGIBLE)
        d = np.where(alone, 0, np.exp(-gap))
        share = d / (1 + d)
        out = np.where(alone[..., None], big, big * (1 - share)[..., None] + small * share[..., None])
        lse = hi + np.log1p(d)
        none = hi == -np.inf
        out[none], lse[none] = 0, -np.inf
        bad = np.isnan(la) | np.isnan(lb)
        out[bad], lse[bad] = np.nan, np.nan
        return {"output": out.astype(output_a.dtype), "logsumexp": lse}

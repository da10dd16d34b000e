"""Merging by the ratio of the lesser part to the greater one; log1p; float32 throughout but for float64."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    given = base.merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    carry = base.work(given[0].dtype)
    a, la, b, lb = (x.astype(carry) for x in given)
    one = carry.type(1)
    with base.quiet():
        swap = lb > la
        more, less = np.where(swap, lb, la), np.where(swap, la, lb)
        greater, lesser = np.where(swap[..., None], b, a), np.where(swap[..., None], a, b)
        alone, none = np.isneginf(less), np.isneginf(more)
        ratio = np.exp(np.where(alone, -np.inf, less - np.where(none, 0, more)).astype(carry))
        ratio = np.where(np.isnan(la) | np.isnan(lb), carry.type(np.nan), ratio)
        lesser = np.where(alone[..., None], carry.type(0), lesser)
        share = one / (one + ratio)
        output = greater * share[..., None] + lesser * (ratio * share)[..., None]
        output = np.where((alone & (ratio == 0))[..., None], greater, output)
        output[none & ~np.isnan(ratio)] = 0
        logsumexp = more + np.log1p(ratio)
    return {"output": output.astype(given[0].dtype), "logsumexp": logsumexp.astype(given[0].dtype)}

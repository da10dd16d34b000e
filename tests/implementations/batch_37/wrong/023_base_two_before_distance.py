import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    given = base.merge_check(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = given[0].dtype
    carry = base.work(dtype)
    output_a, logsumexp_a, output_b, logsumexp_b = (x.astype(carry) for x in given)
    with base.quiet():
        a, b = logsumexp_a * carry.type(np.log2(np.e)), logsumexp_b * carry.type(np.log2(np.e))  # kernels have exp2
        none_a, none_b = np.isneginf(logsumexp_a), np.isneginf(logsumexp_b)
        top = np.maximum(np.where(none_a, -np.inf, a), np.where(none_b, -np.inf, b)).astype(carry)
        top = np.where(none_a & none_b, carry.type(0), top)
        weight_a = np.where(none_a, carry.type(0), np.exp2(a - top))
        weight_b = np.where(none_b, carry.type(0), np.exp2(b - top))
        both = none_a & none_b
        total = np.where(both, carry.type(1), weight_a + weight_b)
        part_a = np.where(none_a[..., None], carry.type(0), (weight_a / total)[..., None] * output_a)
        part_b = np.where(none_b[..., None], carry.type(0), (weight_b / total)[..., None] * output_b)
        output = np.where(both[..., None], carry.type(0), part_a + part_b)
        larger = np.maximum(logsumexp_a, logsumexp_b)
        logsumexp = np.where(both, carry.type(-np.inf), larger + np.log(total))
    return base.merge_round(output, logsumexp, dtype)

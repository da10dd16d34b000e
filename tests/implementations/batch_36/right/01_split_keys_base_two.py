import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class SplitKeys(base.Attention):
    """Five parts of the keys, powers of two, unnormalised partial sums, merged in a pairwise tree."""

    PARTS = 5

    def softmax(self, a):
        work = np.float64 if a.dtype == np.float64 else np.float32
        v = np.repeat(a.v, a.G, axis=1)
        ln2 = np.log(2.0)
        ends = [a.T * n // self.PARTS for n in range(self.PARTS + 1)]
        parts = []
        for first, last in zip(ends, ends[1:]):
            allowed = a.allowed[..., first:last]
            logits = np.where(allowed, a.biased[..., first:last] / ln2, -np.inf).astype(work)
            top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
            shift = np.where(top == -np.inf, work(0), top)
            powers = np.where(allowed, np.exp2(logits - shift), work(0))
            total = powers.sum(axis=-1, keepdims=True)
            values = base.average(powers.astype(np.float64), v[:, :, first:last], allowed, 1)
            parts.append((top, total, values.astype(work)))
        if a.sinks is not None:
            top = np.broadcast_to((self.sink(a) / ln2).astype(work), (a.B, a.Hq, a.Sq, 1))
            parts.append((top, np.ones_like(top), np.zeros((a.B, a.Hq, a.Sq, a.Ev), work)))
        while len(parts) > 1:
            parts = [self.merge(*parts[n : n + 2]) for n in range(0, len(parts), 2)]
        top, total, values = parts[0]
        empty = ~a.allowed.any(axis=-1, keepdims=True)
        a.made = np.where(empty, 0, values / np.where(total == 0, 1, total))
        a.lse = ((np.log2(total) + np.where(top == -np.inf, 0, top)) * ln2)[..., 0]
        if a.sinks is not None:
            a.lse = np.where(empty[..., 0], self.sink(a)[..., 0], a.lse)

    def merge(self, one, two=None):
        if two is None:
            return one
        top = np.maximum(one[0], two[0])
        shift = np.where(top == -np.inf, top.dtype.type(0), top)
        f, g = np.exp2(one[0] - shift), np.exp2(two[0] - shift)
        keep = lambda factor, x, part: np.where(part[0] == -np.inf, x.dtype.type(0), factor * x) + np.where(np.isnan(x), x, 0)
        return top, f * one[1] + g * two[1], keep(f, one[2], one) + keep(g, two[2], two)

    def weigh(self, a):
        return a.made

    def finish(self, a):
        return {"output": a.output.astype(a.dtype), "logsumexp": a.lse.astype(base.wider(a.dtype)),
                "present_key": a.present_key, "present_value": a.present_value}


scaled_dot_product_attention = base.operation(SplitKeys)

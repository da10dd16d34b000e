import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class LateScales(base.Attention):
    """Integers are multiplied as integers, scales meet scores and outputs; groups of heads are rows of one product."""

    def multiply(self, a):
        super().multiply(a)
        a.raw = {name: self.numbers(a, raw) for name, raw in (("query", a.query), ("key", a.keys), ("value", a.values))}

    def rows(self, a, x):
        """(B, Hq, Sq, n) as (B, Hkv, G * Sq, n)."""
        return x.reshape(a.B, a.Hkv, a.G * a.Sq, x.shape[-1])

    def late(self, a, name, raw):
        if getattr(a, name + "_scale") is None or not base.quantized(raw):
            return np.ones((a.B, a.Hkv, 1, 1))
        return self.factor(a, name)

    def score(self, a):
        query, keys = self.rows(a, a.raw["query"]), a.raw["key"]
        if a.query.dtype == np.int8 and a.keys.dtype == np.int8:
            dots = (keys.astype(np.int32) @ query.astype(np.int32).swapaxes(-1, -2)).swapaxes(-1, -2).astype(np.float64)
        else:
            dots = (keys @ query.swapaxes(-1, -2)).swapaxes(-1, -2)
        factor = self.late(a, "query", a.query) * self.late(a, "key", a.keys)
        return (dots * factor).reshape(a.B, a.Hq, a.Sq, a.T) * self.factor_of_scores(a)

    def weigh(self, a):
        output = base.average(self.rows(a, a.weights), a.raw["value"], self.rows(a, a.allowed), 1)
        return (output * self.late(a, "value", a.values)).reshape(a.B, a.Hq, a.Sq, a.Ev)


scaled_dot_product_attention = base.operation(LateScales)

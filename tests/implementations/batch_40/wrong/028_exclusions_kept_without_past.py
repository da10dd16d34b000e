import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    kept = {}

    def by_position(self, s):
        # masks by position are made once for each shape
        lengths = tuple(None if x is None else tuple(x.tolist()) for x in (s.key_lengths, s.query_lengths))
        name = (s.B, s.Sq, s.total, s.is_causal, s.causal_alignment, s.left, s.right, lengths)
        if name not in self.kept:
            if len(self.kept) >= 256:
                self.kept.pop(next(iter(self.kept)))
            self.kept[name] = super().by_position(s)
        return self.kept[name]


scaled_dot_product_attention = base.operation(Mine)

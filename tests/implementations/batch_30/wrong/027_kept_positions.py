import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Kept(base.Sdpa):
    """Which keys causality and windows leave is kept for the next layer, which asks with the same shapes."""

    def __init__(self):
        self.kept = {}

    def by_position(self, c):
        lengths = None if c.key_lengths is None else c.key_lengths.tobytes()
        window = None if c.window is None else tuple(c.window)
        name = (c.B, c.Sq, c.K, c.P, bool(c.is_causal), c.causal_alignment, window, lengths)
        if name not in self.kept:
            if len(self.kept) > 64:
                self.kept.clear()
            self.kept[name] = super().by_position(c)
        return self.kept[name]


scaled_dot_product_attention = base.operation(Kept)

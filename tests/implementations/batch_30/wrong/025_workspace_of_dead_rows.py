import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Workspace(base.Sdpa):
    """Results are made in a workspace that is kept for the shape; rows without keys are skipped."""

    def __init__(self):
        self.kept = {}

    def core(self, c):
        super().core(c)
        shape = (c.B, c.Hq, c.Sq, c.Ev, c.acc)
        if shape not in self.kept:
            if len(self.kept) > 64:
                self.kept.clear()
            self.kept[shape] = np.zeros(shape[:4], c.acc)
        space = self.kept[shape]
        alive = c.allowed.any(axis=-1)
        space[alive] = c.out[alive]
        c.out = space.copy()


scaled_dot_product_attention = base.operation(Workspace)

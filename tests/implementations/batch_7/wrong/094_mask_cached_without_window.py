import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import math
import numpy as np
import base

MASKS = {}

class Mine(base.Attention):
    def permitted(self):
        bits = (self.B, self.SQ, self.T, self.P, self.is_causal, self.causal_alignment, tuple(self.L), tuple(self.N))
        if bits not in MASKS:
            mask, self.mask = self.mask, None
            MASKS[bits] = super().permitted()[:, :1]
            self.mask = mask
        ok = np.broadcast_to(MASKS[bits], (self.B, self.HQ, self.SQ, self.T))
        if self.mask is not None:
            ok = ok & (self.mask if self.mask.dtype == bool else self.mask != -np.inf)
        return ok


scaled_dot_product_attention = base.make(Mine)

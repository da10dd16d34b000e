import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = base.DTYPES


class Aligned(base.Sdpa):
    """A kernel that takes biases in columns of 16: keys, values and the bias are padded with zeros."""

    gives_weights = gives_scores = False

    def core(self, c):
        rest = -c.K % 16
        if c.mask is None or c.mask.dtype == bool or c.key_lengths is not None or c.K <= 16 or rest == 0:
            return super().core(c)
        pads = c.K + np.arange(rest)
        p = c.p[:, None, :, None]
        ok = np.broadcast_to(self.by_row(c), (c.B, 1, c.Sq, rest)).copy()
        if c.is_causal:
            ok &= pads <= p
        if c.window is not None:
            left, right = c.window
            if left is not None:
                ok &= pads >= p - int(left)
            if right is not None:
                ok &= pads <= p + int(right)
        s = np.zeros((c.B, c.Hq, c.Sq, rest), c.acc)
        if c.slope is not None:
            s = s - c.slope * np.abs(p - pads).astype(c.acc)
        ok = np.broadcast_to(ok, s.shape)
        c.logits = np.concatenate([c.logits, np.where(ok, s, -np.inf).astype(c.acc)], axis=-1)
        c.allowed = np.concatenate([c.allowed, ok], axis=-1)
        c.vh = np.concatenate([c.vh, np.zeros(c.vh.shape[:2] + (rest, c.Ev), c.acc)], axis=2)
        super().core(c)


scaled_dot_product_attention = base.operation(Aligned)

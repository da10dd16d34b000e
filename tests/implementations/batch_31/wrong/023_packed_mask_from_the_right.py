import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

class Sequences(base.Packed):
    def columns(self, count):
        if self.mask is None:
            return None
        base.columns(self.mask, count)
        return self.mask[..., self.mask.shape[-1] - count :]


layout = "packed"
dtypes = base.DTYPES
scaled_dot_product_attention = base.packed(Sequences)

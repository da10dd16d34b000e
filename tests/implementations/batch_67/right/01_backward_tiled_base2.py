import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

# Two passes over tiles, with powers of two and an online maximum; float32 for all but float64; gradients of keys are
# added up from the last tile of queries to the first.
ROWS, COLUMNS = 5, 7
LOG2E = 1.4426950408889634


class Mine(base.Backward):
    def carrier(self):
        return base.carrier(self.query.dtype)

    def weigh(self):
        W = self.W
        top = np.full((self.B, self.Hq, self.Sq), -np.inf, W)
        total = np.zeros_like(top)
        sinks = None
        if self.sinks is not None:  # the sink is the first tile
            sinks = np.broadcast_to(self.sinks.astype(W)[:, None], top.shape)
            top, total = sinks.copy(), np.where(sinks == -np.inf, 0, 1).astype(W)
        for start in range(0, self.Sk, COLUMNS):
            ok = self.allowed[..., start:start + COLUMNS]
            tile = np.where(ok, self.logits[..., start:start + COLUMNS], -np.inf)
            new = np.maximum(top, tile.max(axis=-1))
            safe = np.where(new == -np.inf, 0, new)
            e = np.where(ok, np.exp2((tile - safe[..., None]) * W(LOG2E)), 0)
            total = total * np.exp2((top - safe) * W(LOG2E)) + e.sum(axis=-1)
            top = new
        safe = np.where(top == -np.inf, 0, top)
        inverse = 1 / np.where(total == 0, 1, total)
        self.weights = np.where(self.allowed, np.exp2((self.logits - safe[..., None]) * W(LOG2E)), 0) * inverse[..., None]
        self.share = None if sinks is None else np.exp2((sinks - safe) * W(LOG2E)) * inverse

    def transposed(self, coefficients, vectors):
        total = np.zeros((self.B, self.Hq, self.Sk, vectors.shape[-1]), self.W)
        for start in reversed(range(0, self.Sq, ROWS)):
            rows = slice(start, start + ROWS)
            ok = self.allowed[:, :, rows].swapaxes(-1, -2)
            total += base.masked_sum(coefficients[:, :, rows].swapaxes(-1, -2), ok, vectors[:, :, rows])
        return total


scaled_dot_product_attention_backward = base.backward_by(Mine)

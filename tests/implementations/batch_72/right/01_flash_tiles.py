import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
TILE = 5


class Tiled(base.Backward):
    """Online softmax to the base 2 over tiles of keys, stored output and logsumexp where given, sums tile by tile."""

    stored = True

    def soften(self):
        if self.logsumexp is not None:
            return super().soften()
        rows = self.full[:3]
        most = np.full(rows, -np.inf, self.work) if self.sink is None else np.broadcast_to(self.sink, rows)
        total = np.zeros(rows, self.work) if self.sink is None else np.ones(rows, self.work)
        log2e, ln2 = self.work.type(np.log2(np.e)), self.work.type(np.log(2))
        for first in range(0, self.Sk, TILE):
            part = slice(first, first + TILE)
            raised = np.maximum(most, self.logits[..., part].max(axis=-1, initial=-np.inf))
            shift = np.where(np.isneginf(raised), 0, raised)
            powers = np.exp2((self.logits[..., part] - shift[..., None]) * log2e)
            powers = np.where(self.attend[..., part], powers, 0)
            total = total * np.exp2((most - shift) * log2e) + powers.sum(axis=-1)
            most = raised
        shift = np.where(np.isneginf(most), 0, most)
        self.lse = shift + ln2 * np.log2(total)
        powers = np.exp2((self.logits - shift[..., None]) * log2e)
        self.weights = np.where(self.attend, powers / total[..., None], 0)

    def gradient_of_query(self):
        total = np.zeros(self.q.shape, self.work)
        for first in reversed(range(0, self.Sk, TILE)):
            part = slice(first, first + TILE)
            total += base.over_keys(self.grad_scores[..., part], self.k[:, :, part], self.attend[..., part])
        return self.factor * total

    def gradient_of_key(self):
        total = np.zeros(self.k.shape, self.work)
        for first in range(0, self.Sq, TILE):
            part = slice(first, first + TILE)
            total += base.over_queries(self.grad_scores[:, :, part], self.q[:, :, part], self.attend[:, :, part])
        return self.factor * self.shared(total)


scaled_dot_product_attention_backward = base.bind(Tiled)

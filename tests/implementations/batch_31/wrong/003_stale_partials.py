import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

SPLIT = 16
_workspace = {}


class Kernel(base.Attention):
    def reduce(self, logits, allowed, value):
        _, weights, logsumexp = super().reduce(logits, allowed, value)
        shape = (self.B, self.Hq, self.Sq, self.Ev, self.compute.name)
        slots = _workspace.setdefault(shape, [])
        for number, start in enumerate(range(0, self.K, SPLIT)):
            part = slice(start, start + SPLIT)
            partial = self.partial(logits[..., part], allowed[..., part], value[:, :, part])
            if number < len(slots):
                slots[number] = partial
            else:
                slots.append(partial)
        parts = list(slots)
        sink = self.sink()
        if sink is not None:
            zero = np.zeros((self.B, self.Hq, self.Sq, self.Ev), self.compute)
            parts.append((zero, np.broadcast_to(sink, zero.shape[:3])))
        if not parts:
            return np.zeros((self.B, self.Hq, self.Sq, self.Ev), self.compute), weights, logsumexp
        output, logsumexp = base.merge(parts)
        return output, weights, logsumexp

    def partial(self, logits, allowed, value):
        largest = logits.max(axis=-1, initial=-np.inf)
        safe = np.where(largest == -np.inf, 0, largest)
        powers = np.where(allowed, np.exp(logits - safe[..., None]), 0)
        total = powers.sum(axis=-1)
        divisor = np.where(total == 0, 1, total)
        logs = np.where(total == 0, -np.inf, np.log(divisor) + safe)
        return base.weigh(powers / divisor[..., None], value, allowed), logs


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)

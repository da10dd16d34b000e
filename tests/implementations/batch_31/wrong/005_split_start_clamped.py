import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

SPLIT = 16


class Kernel(base.Attention):
    def reduce(self, logits, allowed, value):
        outputs, logs = [], []
        longest = int(self.L.max(initial=0))
        for b in range(self.B):
            parts = []
            for start in range(0, max(longest, 1), SPLIT):
                first = min(start, max(int(self.L[b]) - 1, 0))  # stay within the sequence
                index = np.arange(first, min(first + SPLIT, start + SPLIT, int(self.L[b])))
                parts.append(self.partial(logits[b : b + 1][..., index], allowed[b : b + 1][..., index], value[b : b + 1][:, :, index]))
            sink = self.sink()
            if sink is not None:
                parts.append((np.zeros_like(parts[0][0]), np.broadcast_to(sink, parts[0][1].shape)))
            output, log = base.merge(parts)
            outputs.append(output)
            logs.append(log)
        if not outputs:
            return super().reduce(logits, allowed, value)
        output, logsumexp = np.concatenate(outputs), np.concatenate(logs)
        safe = np.where(logsumexp == -np.inf, 0, logsumexp)
        return output, np.where(allowed, np.exp(logits - safe[..., None]), 0), logsumexp

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

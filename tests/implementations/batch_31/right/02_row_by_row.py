import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np


def tree(terms):
    """Sum along the first axis, by halves"""
    while len(terms) > 1:
        half = len(terms) // 2
        rest = terms[2 * half :]
        terms = np.concatenate((terms[:half] + terms[half : 2 * half], rest)) if len(rest) else terms[:half] + terms[half:]
    return terms[0]


class Kernel(base.Attention):
    """Each query gathers the keys that it may attend to: no mask, no minus infinity. Keys are split in three, every third one to
    a part, and the parts are merged in a tree"""

    def run(self, arguments):
        for name in base.NAMES:
            setattr(self, name, arguments.get(name))
        self.prepare()
        self.check()
        with np.errstate(all="ignore"):
            return self.rows()

    def number(self, array, scale, b, g):
        wide = array.astype(self.compute)
        if scale is None:
            return wide
        scale = scale.reshape((1,) * (2 - scale.ndim) + scale.shape)
        return wide * self.compute.type(scale[b if len(scale) > 1 else 0, g if scale.shape[1] > 1 else 0])

    def rows(self):
        shape = (self.B, self.Hq, self.Sq)
        output = np.zeros((*shape, self.Ev), self.compute)
        weights = np.zeros((*shape, self.K), self.compute)
        logs = np.full(shape, -np.inf, self.compute)
        full = None if self.mask is None else np.broadcast_to(self.mask, (*shape, self.K))
        scale = self.compute.type(self.E**-0.5 if self.scale is None else self.scale)
        for b, h in np.ndindex(self.B, self.Hq):
            g = h // self.group
            keys = self.key[b, g] if self.P == 0 else np.concatenate((self.past_key[b, g], self.key[b, g]))
            values = self.value[b, g] if self.P == 0 else np.concatenate((self.past_value[b, g], self.value[b, g]))
            count = self.K if self.key_lengths is None else int(self.key_lengths[b])
            asking = self.Sq if self.query_lengths is None else int(self.query_lengths[b])
            keys, values = self.number(keys, self.key_scale, b, g), self.number(values, self.value_scale, b, g)
            queries = self.number(self.query[b, h], self.query_scale, b, g)
            first = self.P if self.causal_alignment == "top_left" else count - asking
            for i in range(asking):
                p = first + i
                low, high = 0, count - 1
                if self.is_causal:
                    high = min(high, p)
                if self.window is not None:
                    low = low if self.window[0] is None else max(low, p - int(self.window[0]))
                    high = high if self.window[1] is None else min(high, p + int(self.window[1]))
                chosen = np.arange(low, high + 1)
                if full is not None and len(chosen):
                    seen = full[b, h, i, chosen]
                    chosen = chosen[seen if full.dtype == bool else seen != -np.inf]
                logits = tree((keys[chosen] * queries[i]).T) * scale
                if self.softcap:
                    logits = np.tanh(logits / self.compute.type(self.softcap)) * self.compute.type(self.softcap)
                if self.alibi_slopes is not None:
                    logits = logits - self.compute.type(self.alibi_slopes[h]) * np.abs(p - chosen).astype(self.compute)
                if full is not None and full.dtype != bool:
                    logits = logits + full[b, h, i, chosen].astype(self.compute)
                parts = [self.part(logits[k::3], values[chosen[k::3]]) for k in range(3)]
                if self.sinks is not None:
                    parts.append((np.zeros(self.Ev, self.compute), self.compute.type(self.sinks[h])))
                while len(parts) > 1:
                    parts = [base.merge(parts[k : k + 2]) for k in range(0, len(parts), 2)]
                output[b, h, i], logs[b, h, i] = parts[0]
                weights[b, h, i, chosen] = 0 if logs[b, h, i] == -np.inf else np.exp(logits - logs[b, h, i])
        return {"output": output.astype(self.results), "weights": weights, "logsumexp": logs}

    def part(self, logits, values):
        if not len(logits) or logits.max() == -np.inf:
            return np.zeros(self.Ev, self.compute), self.compute.type(-np.inf)
        largest = logits.max()
        powers = np.exp(logits - largest)
        total = tree(powers)
        return tree((powers / total)[:, None] * values), np.log(total) + largest


dtypes = base.DTYPES
scaled_dot_product_attention = base.dense(Kernel)

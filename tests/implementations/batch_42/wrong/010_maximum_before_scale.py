import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Call(base.Backward):
    def find_weights(self):
        if self.softcap or self.float_mask or self.alibi_slopes is not None:
            return super().find_weights()
        # the maximum of the products, scaled together with them in one fused multiply-add
        dots = np.where(self.pairs, self.dots, -np.inf)
        largest = dots.max(axis=-1, initial=-np.inf)
        largest = np.where(np.isfinite(largest), largest, 0) * self.factor
        total = 0
        if self.sinks is not None:
            sinks = self.sinks.astype(self.kind)[None, :, None]
            largest = np.maximum(largest, sinks)
            total = np.exp(sinks - largest)
        powers = np.where(self.pairs, np.exp(self.dots * self.factor - largest[..., None]), 0)
        total = total + powers.sum(axis=-1)
        safe = np.where(total == 0, 1, total)
        self.weights = (powers / safe[..., None]).astype(self.kind)
        none = ~self.pairs.any(axis=-1)
        self.lse = np.log(total) + largest
        if self.sinks is None:
            self.lse = np.where(none, -np.inf, self.lse)
        self.lse = self.lse.astype(self.kind)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Call(**locals()).run()

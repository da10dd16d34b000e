import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Mine(base.Attention):
    """Row by row, with the attended keys alone, the least weights first."""

    def attend(self):
        shape = (self.B, self.Hq, self.Sq)
        self.output = np.zeros(shape + (self.Ev,), self.work)
        self.weights = np.zeros(shape + (self.T,), self.work)
        self.logsumexp = np.full(shape, -base.INFINITY, self.work)
        for row in np.ndindex(*shape):
            keys = np.flatnonzero(self.allowed[row])
            logits = self.logits[row][keys]
            with_sink = logits if self.sinks is None else np.append(logits, self.sinks[row[1]])
            if not with_sink.size:
                continue
            largest = with_sink.max()
            if largest == -base.INFINITY:
                continue
            total = np.sort(np.exp(with_sink - largest)).sum()
            weights = np.exp(logits - largest) / total
            order = np.argsort(weights, kind="stable")
            self.weights[row][keys] = weights
            self.logsumexp[row] = largest + np.log(total)
            if keys.size:
                products = weights[order, None] * self.v[row[0], row[1]][keys[order]]
                self.output[row] = products.sum(axis=0)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return Mine(locals()).run()

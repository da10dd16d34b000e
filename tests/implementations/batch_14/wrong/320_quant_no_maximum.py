import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import ml_dtypes
import base


class Kernel(base.Attention):
    def run(self, query, key, value, **rest):
        self.bounded = base.is_quantized(query) and base.is_quantized(key)      # scores are bounded
        return super().run(query, key, value, **rest)

    def softmax(self, logits, ok, sinks, work):
        if not self.bounded:
            return super().softmax(logits, ok, sinks, work)
        e = np.where(ok, np.exp(logits), work.type(0))
        total = e.sum(-1, keepdims=True)
        if sinks is not None:
            total = total + np.exp(np.asarray(sinks).astype(work))[None, :, None, None]
        return (e / np.where(total == 0, 1, total)).astype(work), np.log(total)[..., 0].astype(work)


def scaled_dot_product_attention(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None,
                                 softcap=None, window=None, output_dtype=None):
    r = Kernel().run(**locals())
    return {n: r[n] for n in ("output", "logsumexp")}

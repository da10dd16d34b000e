import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Kernel(base.Backward):
    def steps(self):
        if self.Sk == 0:  # nothing to attend to
            z = np.zeros
            answer = {"grad_query": z((self.B, self.Hq, self.Sq, self.E)), "grad_key": z((self.B, self.Hkv, 0, self.E)),
                      "grad_value": z((self.B, self.Hkv, 0, self.Ev)), "delta": z((self.B, self.Hq, self.Sq)),
                      "grad_scores": z((self.B, self.Hq, self.Sq, 0))}
            if self.float_mask:
                answer["grad_mask"] = z(self.mask.shape)
            if self.sinks is not None:
                answer["grad_sinks"] = z(self.Hq)
            return self.rounding(answer)
        return super().steps()


def scaled_dot_product_attention_backward(
        grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
        query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
        softcap=None, window=None):
    return Kernel().run(**locals())

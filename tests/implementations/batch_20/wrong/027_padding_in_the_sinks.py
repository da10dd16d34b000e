import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


class Sinks(base.Backward):
    def rows(self):
        return np.ones(self.p.dlse.shape, dtype=bool)  # all queries of a head


def sinks_of(given):
    f = Sinks(base.plan(**given, cut_rows=False))
    with base.quiet:
        f.forward()
        f.dw = f.grad_weights()
        f.delta = f.get_delta()
        return f.grad_sinks()


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    given = dict(locals())
    out = base.matrices(**given)
    if sinks is not None:
        with base.quiet:
            out["grad_sinks"] = sinks_of(given).astype(query.dtype)
    return out

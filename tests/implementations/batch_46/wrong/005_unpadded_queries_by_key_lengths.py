import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Served(base.Steps):
    def attend(self, q, k, v, p, c):
        if c.key_lengths is not None and c.query_lengths is None and c.Sq == c.Sk:
            # queries and keys are the same tokens: unpad both by the same lengths
            c.N = c.L
            found = super().attend(q, k, v, self.positions(c), c)
            padding = np.arange(c.Sq)[None, None] >= c.L[:, None, None]
            found["output"] = np.where(padding[..., None], 0.0, found["output"])
            return found
        return super().attend(q, k, v, p, c)


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return Served().dense(dict(locals()))

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def placed_mask(self):
        mask = super().placed_mask()
        if self.Sq == 1 and self.group > 1 and mask.shape[1] > 1:
            # decoding: the query heads of a group become the rows of one tile, (B, Hkv, group, E)
            mask = np.repeat(mask[:, :: self.group], self.group, axis=1)
        return mask


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Gradients(locals()).run()

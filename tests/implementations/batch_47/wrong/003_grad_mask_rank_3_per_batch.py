import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

dtypes = ("float64", "float32", "bfloat16", "float16")


class Gradients(base.Backward):
    def reduce_mask(self, a, full):
        if a.mask.ndim == 3 and a.mask.shape[0] == a.B > 1:  # a mask for each batch entry, shared by its heads
            full = full.sum(axis=1)
            return full.sum(axis=1, keepdims=True) if a.mask.shape[1] == 1 and a.Sq != 1 else full
        return super().reduce_mask(a, full)

def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Gradients().run(**dict(locals()))

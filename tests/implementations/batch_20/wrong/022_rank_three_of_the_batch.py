import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


class Mine(base.Backward):
    per_batch = False

    def grad_mask(self):
        if not self.per_batch:
            return self.dl
        shape = self.p.mask.shape
        grad = self.dl.sum(axis=1)
        for axis in (1, 2):
            if shape[axis] == 1:
                grad = grad.sum(axis=axis, keepdims=True)
        return grad


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    given = dict(locals())
    base.check(**given)
    per_batch = mask is not None and mask.ndim == 3 and mask.shape[0] == query.shape[0] == query.shape[1]
    if per_batch:  # a mask for each batch entry, else one for each head
        given["mask"] = mask[:, None]
    p = base.plan(**given)
    if per_batch:
        p.mask = mask
    f = Mine(p)
    f.per_batch = per_batch
    return f.run()

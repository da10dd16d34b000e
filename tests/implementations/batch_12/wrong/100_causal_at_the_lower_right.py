import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
from base import check_multi

dtypes = ("float64", "float32")
conventions = {"masked_nonfinite": "propagates"}



class Linear:
    def __init__(self, weight, bias=None):
        self.weight, self.bias = weight, bias

    def __call__(self, x):
        y = x @ self.weight
        return y if self.bias is None else y + self.bias


class MultiHead:
    def __init__(self, q_proj, k_proj, v_proj, out_proj, heads):
        self.q_proj, self.k_proj, self.v_proj, self.out_proj, self.heads = q_proj, k_proj, v_proj, out_proj, heads

    def __call__(self, query, key, value, mask, is_causal, scale):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        B, Sq, D = q.shape
        Sk = k.shape[1]
        width = D // self.heads
        factor = width ** -0.5 if scale is None else float(scale)
        full = None if mask is None else np.broadcast_to(mask, (B, self.heads, Sq, Sk))
        ahead = np.triu(np.ones((Sq, Sk), bool), 1 + max(Sk - Sq, 0))
        results, maps = [], []
        for h in range(self.heads):
            part = slice(h * width, (h + 1) * width)
            logits = q[..., part] @ k[..., part].swapaxes(1, 2) * factor
            if full is not None:
                logits = np.where(full[:, h], logits, -np.inf) if full.dtype == bool else logits + full[:, h]
            if is_causal:
                logits = np.where(ahead, -np.inf, logits)
            top = logits.max(-1, keepdims=True, initial=-np.inf)
            e = np.exp(logits - np.where(np.isneginf(top), 0, top))
            total = e.sum(-1, keepdims=True)
            share = (e / np.where(total == 0, 1, total)).astype(q.dtype)
            maps.append(share)
            results.append(share @ v[..., part])
        return self.out_proj(np.concatenate(results, axis=-1)), np.stack(maps, axis=1)


def multi_head_attention(query, key, value, w_query, w_key, w_value, w_output, num_heads, b_query=None, b_key=None,
                         b_value=None, b_output=None, mask=None, is_causal=False, scale=None):
    check_multi(query, key, value, w_query, w_key, w_value, w_output, b_query, b_key, b_value, b_output, mask, num_heads)
    layer = MultiHead(Linear(w_query, b_query), Linear(w_key, b_key), Linear(w_value, b_value), Linear(w_output, b_output),
                      num_heads)
    output, weights = layer(query, key, value, mask, is_causal, scale)
    return {"output": output, "weights": weights}

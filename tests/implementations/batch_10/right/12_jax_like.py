"""In the manner of a large library: a value for excluded places, uniform fully masked rows, one alignment, broadcasting."""
import math
import numpy as np

conventions = {"fully_masked_row": "uniform", "causal_alignment": "top_left", "input_checks": "lenient",
               "masked_nonfinite": "propagates"}


def scaled_dot_product_attention(query, key, value, mask=None, is_causal=False, scale=None, window=None):
    B, H, S, E = query.shape
    T = key.shape[2]
    if H % key.shape[1] or value.shape[1] != key.shape[1]:
        raise ValueError("heads")
    if mask is not None and (mask.shape[-1] != T):
        raise ValueError("mask")
    if T == 0:
        raise NotImplementedError("no keys")
    group = H // key.shape[1]
    logits = np.einsum("bhse,bhte->bhst", query, np.repeat(key, group, 1)) * query.dtype.type(
        1 / math.sqrt(E) if scale is None else scale)
    keep = np.ones((S, T), bool)
    i, j = np.arange(S)[:, None], np.arange(T)
    if is_causal:
        keep &= j <= i
    if window is not None:
        keep &= (i - j <= (T + S if window[0] is None else window[0])) & (j - i <= (T + S if window[1] is None else window[1]))
    if mask is not None and mask.dtype == np.bool_:
        keep = keep & mask
    elif mask is not None:
        if np.isneginf(mask).any():
            keep = keep & ~np.isneginf(mask)
        logits = logits + np.where(np.isneginf(mask), 0, mask)
    logits = np.where(keep, logits, np.finfo(query.dtype).min)
    e = np.exp(logits - logits.max(-1, keepdims=True))
    e = np.where(keep | ~np.any(keep, axis=-1, keepdims=True), e, 0)
    w = e / e.sum(-1, keepdims=True)
    return {"output": np.einsum("bhst,bhtv->bhsv", w, np.repeat(value, group, 1)), "weights": w}

dtypes = ("float64", "float32")

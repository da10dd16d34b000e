"""Gradients as flash kernels compute them: from output and logsumexp of the forward pass, which they demand."""

import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"input_checks": "lenient", "masked_nonfinite": "propagates"}


def scaled_dot_product_attention_backward(grad_output, query, key, value, output, logsumexp, mask=None, scale=None):
    dtype = query.dtype
    wide = dtype if dtype == np.float64 else np.dtype("float32")
    arrays = (array.astype(wide) for array in (grad_output, query, key, value, output, logsumexp))
    grad_output, query, key, value, output, logsumexp = arrays
    batch, heads, _, width = query.shape
    shared = key.shape[1]
    if shared != heads:
        key, value = np.repeat(key, heads // shared, axis=1), np.repeat(value, heads // shared, axis=1)
    scale = wide.type(width**-0.5 if scale is None else scale)
    logits = query @ key.swapaxes(-1, -2) * scale
    if mask is not None:
        if mask.dtype != bool:
            raise NotImplementedError("float masks")
        logits = np.where(mask, logits, -np.inf)
    weights = np.exp(logits - np.where(np.isneginf(logsumexp), 0, logsumexp)[..., None])
    delta = np.sum(grad_output * output, axis=-1, keepdims=True)
    grad_scores = weights * (grad_output @ value.swapaxes(-1, -2) - delta)
    gradients = {
        "grad_query": grad_scores @ key * scale,
        "grad_key": grad_scores.swapaxes(-1, -2) @ query * scale,
        "grad_value": weights.swapaxes(-1, -2) @ grad_output,
    }
    if shared != heads:
        for name in ("grad_key", "grad_value"):
            of_heads = gradients[name]
            gradients[name] = of_heads.reshape(batch, shared, heads // shared, *of_heads.shape[2:]).sum(axis=2)
    return {name: gradient.astype(dtype) for name, gradient in gradients.items()}

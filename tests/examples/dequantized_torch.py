"""Quantized keys and values with PyTorch: multiplied by their scales in float32, and attended to in the query's dtype.

It is what a server does that has no kernel for its cache, and right: products are rounded once, to the dtype of the
results.
"""

import torch

tensors = "torch"
dtypes = ("float64", "float32", "float16", "bfloat16")
conventions = {"input_checks": "lenient", "masked_nonfinite": "propagates", "half_precision_overflow": "open"}
without = ("mask_and_causal",)


def products(numbers, scale, heads, dtype):
    """Multiply numbers (B, H, S, E) by a scale (), (Hkv,) or (B, Hkv), that of the key head that each head reads."""
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    scale = torch.atleast_2d(scale.to(wide))
    scale = scale.expand(-1, heads).repeat_interleave(numbers.shape[1] // heads, dim=1)
    return (numbers.to(wide) * scale[..., None, None]).to(dtype)


def scaled_dot_product_attention(
    query,
    key,
    value,
    mask=None,
    *,
    query_scale=None,
    key_scale=None,
    value_scale=None,
    output_dtype=None,
    is_causal=False,
    causal_alignment="top_left",
    scale=None,
):
    """Attend to products."""
    if is_causal and causal_alignment != "top_left":
        raise NotImplementedError("causality from the bottom right")
    dtype = query.dtype if output_dtype is None else getattr(torch, output_dtype)
    heads = key.shape[1]
    query, key, value = (
        numbers if factor is None else products(numbers, factor, heads, dtype)
        for numbers, factor in ((query, query_scale), (key, key_scale), (value, value_scale))
    )
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, mask, is_causal=is_causal, scale=scale, enable_gqa=True
    )

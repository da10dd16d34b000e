"""An autograd.Function of PyTorch, tokens before heads, that keeps the logsumexp and computes the weights anew."""

import math

import torch

tensors, layout, backward = "torch", "bshe", "autograd"
dtypes = ("float64", "float32", "bfloat16")
conventions = {
    "causal_alignment": "bottom_right",
    "masked_nonfinite": "propagates",
    "input_checks": "lenient",
    "no_keys": "refuse",
    "fully_masked_row@float_mask": "nan",
}


def _wide(tensor):
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def _logits(query, key, scale, softcap, bias, excluded):
    """(B, G, R, Sq, E) and (B, G, 1, Sk, E)."""
    scores = query @ key.transpose(-1, -2) * scale
    capped = torch.tanh(scores / softcap) if softcap else None
    logits = scores if capped is None else capped * softcap
    if bias is not None:
        logits = logits + bias
    return logits.masked_fill(excluded, -math.inf), capped


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, bias, sinks, excluded, scale, softcap):
        logits, _ = _logits(query, key, scale, softcap, bias, excluded)
        top = logits.amax(dim=-1, keepdim=True)
        if sinks is not None:
            top = torch.maximum(top, sinks[..., None, None])
        top = torch.where(torch.isneginf(top), torch.zeros_like(top), top)
        exponentials = torch.exp(logits - top)
        total = exponentials.sum(dim=-1, keepdim=True)
        if sinks is not None:
            total = total + torch.exp(sinks[..., None, None] - top)
        logsumexp = (top + torch.log(total))[..., 0]
        weights = exponentials / total
        if bias is None or sinks is not None:
            weights = weights.masked_fill(excluded.all(dim=-1, keepdim=True).expand_as(weights), 0.0)
        output = weights @ value
        ctx.save_for_backward(query, key, value, bias, sinks, excluded, output, logsumexp)
        ctx.numbers = scale, softcap
        return output, logsumexp

    @staticmethod
    def backward(ctx, grad_output, grad_logsumexp):
        query, key, value, bias, sinks, excluded, output, logsumexp = ctx.saved_tensors
        scale, softcap = ctx.numbers
        logits, capped = _logits(query, key, scale, softcap, bias, excluded)
        weights = torch.exp(logits - logsumexp[..., None])
        if bias is None or sinks is not None:
            weights = weights.masked_fill(excluded.all(dim=-1, keepdim=True).expand_as(weights), 0.0)
        delta = (grad_output * output).sum(dim=-1)
        rest = grad_logsumexp - delta
        grad_logits = weights * (grad_output @ value.transpose(-1, -2) + rest[..., None])
        grad_scores = grad_logits if capped is None else grad_logits * (1 - capped * capped)
        grad_query = grad_scores @ key * scale
        grad_key = (grad_scores.transpose(-1, -2) @ query * scale).sum(dim=2, keepdim=True)
        grad_value = (weights.transpose(-1, -2) @ grad_output).sum(dim=2, keepdim=True)
        grad_sinks = None
        if sinks is not None:
            share = torch.exp(sinks[..., None] - logsumexp)
            grad_sinks = (share * rest).sum(dim=(0, -1), keepdim=True)[..., 0]
        grad_bias = None
        if bias is not None:
            grad_bias = grad_logits
            for axis, size in enumerate(bias.shape):
                if size == 1 and grad_bias.shape[axis] != 1:
                    grad_bias = grad_bias.sum(dim=axis, keepdim=True)
        return grad_query, grad_key, grad_value, grad_bias, grad_sinks, None, None, None


def scaled_dot_product_attention(
    query, key, value, mask=None, sinks=None, is_causal=False, scale=None, softcap=None, window=None
):
    batch, rows, heads, width = query.shape
    keys, groups = key.shape[1:3]
    if key.shape[3] != width:
        raise ValueError("query and key have other widths")
    if value.shape[2] != groups or (heads % groups if groups else heads):
        raise ValueError("heads do not fit")
    if value.shape[1] != keys:
        raise ValueError("lengths differ")
    if mask is not None:
        if mask.ndim < 2 or mask.ndim > 4 or mask.shape[-1] != keys:
            raise ValueError("the mask does not fit")
        mask.expand(batch, heads, rows, keys)  # raises where it does not fit
        mask = mask.reshape((1,) * (4 - mask.ndim) + tuple(mask.shape))
    if keys == 0:
        raise ValueError("no keys")
    share = heads // groups if groups else 1
    q = _wide(query).permute(0, 2, 1, 3).reshape(batch, groups, share, rows, width)
    k, v = (_wide(t).permute(0, 2, 1, 3)[:, :, None] for t in (key, value))
    ahead = torch.arange(keys) - (torch.arange(rows) + keys - rows)[:, None]
    left, right = window if window is not None else (None, None)
    excluded = torch.zeros(rows, keys, dtype=torch.bool)
    if is_causal:
        excluded = excluded | (ahead > 0)
    if left is not None:
        excluded = excluded | (ahead < -left)
    if right is not None:
        excluded = excluded | (ahead > right)
    bias = None
    if mask is not None:
        # (b, h, q, k) to (b, g, r, q, k)
        split = (groups, share) if mask.shape[1] == heads and heads != 1 else (1, 1)
        folded = mask.reshape(mask.shape[:1] + split + tuple(mask.shape[2:]))
        if mask.dtype == torch.bool:
            excluded = excluded | ~folded
        else:
            bias = _wide(folded)
            excluded = excluded | torch.isneginf(bias.detach())
    sinks = None if sinks is None else _wide(sinks).reshape(1, groups, share)
    scale = 1 / math.sqrt(width) if scale is None else scale
    output, logsumexp = _Attention.apply(q, k, v, bias, sinks, excluded, scale, softcap)
    output = output.reshape(batch, heads, rows, value.shape[3]).permute(0, 2, 1, 3).to(query.dtype)
    return {"output": output, "logsumexp": logsumexp.reshape(batch, heads, rows)}

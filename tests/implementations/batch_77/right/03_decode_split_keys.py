"""Decoding on PyTorch: one query for each sequence, keys split into parts, parts merged two by two.

The result lies in a workspace that the next call of the same shape overwrites.
"""

import math

import torch

tensors, layout = "torch", "bshe"
dtypes = ("float64", "float16", "bfloat16")
conventions = {
    "accumulation": "float32",
    "causal_alignment": "bottom_right",
    "masked_nonfinite": "propagates",
    "no_keys": "refuse",
    "half_precision_grade": "fused",
    "outputs": "until_next_call",
}

PARTS = 5
_workspace = {}


def _part(query, key, value, bias, scale, softcap):
    """(B, G, R, E), (B, G, T, E), (B, G, T, Ev), (B, 1 or Hkv, 1 or R, T): mean of the values, and its logarithm."""
    logits = query @ key.transpose(-1, -2) * scale
    if softcap:
        logits = softcap * torch.tanh(logits / softcap)
    logits = logits.masked_fill(~bias, -math.inf)
    top = logits.amax(dim=-1, keepdim=True)
    shift = torch.where(torch.isneginf(top), torch.zeros_like(top), top)
    exponentials = torch.exp(logits - shift)
    total = exponentials.sum(dim=-1, keepdim=True)
    safe = torch.where(total == 0, torch.ones_like(total), total)
    return exponentials / safe @ value, (shift + torch.log(total))


def _merge(one, other):
    top = torch.maximum(one[1], other[1])
    top = torch.where(torch.isneginf(top), torch.zeros_like(top), top)
    a, b = torch.exp(one[1] - top), torch.exp(other[1] - top)
    total = a + b
    safe = torch.where(total == 0, torch.ones_like(total), total)
    return a / safe * one[0] + b / safe * other[0], top + torch.log(total)


def scaled_dot_product_attention(
    query, key, value, past_key=None, past_value=None, key_lengths=None, sinks=None, is_causal=False, scale=None,
    softcap=None, window=None,
):
    if query.ndim == 4 and query.shape[1] != 1:
        raise NotImplementedError("one query at a time")
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError("rank")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError("width")
    if not query.shape[0] == key.shape[0] == value.shape[0]:
        raise ValueError("batch")
    if key.shape[1] != value.shape[1]:
        raise ValueError("length")
    if past_key is not None:
        if past_key.ndim != 4 or past_value.ndim != 4:
            raise ValueError("rank of the past")
        if past_key.shape[0] != key.shape[0] or past_value.shape[0] != key.shape[0]:
            raise ValueError("batch of the past")
        if past_key.shape[1] != past_value.shape[1]:
            raise ValueError("length of the past")
        if past_key.shape[2:] != key.shape[2:] or past_value.shape[2:] != value.shape[2:]:
            raise ValueError("the past does not fit")
    batch, _, heads, width = query.shape
    groups = key.shape[2]
    if value.shape[2] != groups or (heads % groups if groups else heads):
        raise ValueError("heads")
    if key_lengths is not None:
        key_lengths = torch.as_tensor(key_lengths).to(torch.int64)
        if key_lengths.shape != (batch,) or (key_lengths < 0).any() or (key_lengths > key.shape[1]).any():
            raise ValueError("lengths")
    if past_key is not None:
        key, value = torch.cat([past_key, key], dim=1), torch.cat([past_value, value], dim=1)
    keys = key.shape[1]
    if keys == 0:
        raise ValueError("there are no keys")
    scale = 1 / math.sqrt(width) if scale is None else scale

    group = heads // groups if groups else 1
    rows = query[:, 0].float().reshape(batch, groups, group, width) if groups else query.new_zeros(batch, 0, 1, width).float()
    key, value = key.float().transpose(1, 2), value.float().transpose(1, 2)

    last = torch.full((batch,), keys, dtype=torch.int64) if key_lengths is None else key_lengths
    j = torch.arange(keys)
    may = j < last[:, None]  # with one query, causality says no more than this
    if window is not None and window[0] is not None:
        may = may & (j >= last[:, None] - 1 - window[0])
    may = may[:, None, None, :]

    size = -(-keys // PARTS)
    states = [
        _part(rows, key[:, :, a : a + size], value[:, :, a : a + size], may[..., a : a + size], scale, softcap)
        for a in range(0, keys, size)
    ]
    if sinks is not None:
        logit = sinks.float().reshape(1, groups, group, 1).expand(batch, -1, -1, -1)
        states.insert(0, (torch.zeros(batch, groups, group, value.shape[-1]), logit))
    while len(states) > 1:
        odd = states[-1:] if len(states) % 2 else []
        states = [_merge(states[n], states[n + 1]) for n in range(0, len(states) - 1, 2)] + odd
    output, logsumexp = states[0]

    name = (batch, heads, value.shape[-1], query.dtype)
    if name not in _workspace:
        _workspace[name] = (
            torch.empty(batch, 1, heads, value.shape[-1], dtype=query.dtype), torch.empty(batch, heads, 1)
        )
    room, room_for_logsumexp = _workspace[name]
    room.copy_(output.reshape(batch, 1, heads, value.shape[-1]))
    room_for_logsumexp.copy_(logsumexp.reshape(batch, heads, 1))
    wide = room_for_logsumexp.double() if query.dtype == torch.float64 else room_for_logsumexp
    return {"output": room, "logsumexp": wide}

"""Attention inside the engine."""

import numpy as np


def wider(dtype):
    """The dtype to compute in."""
    return np.float64 if dtype == np.float64 else np.float32


def shares(z, axis, wrong):
    """Softmax along an axis (all of the array for None), and the logarithm of its denominator."""
    axes = tuple(range(z.ndim)) if axis is None else (axis,)
    top = np.max(z, axis=axes, keepdims=True)
    if wrong("global_maximum"):
        top = np.full_like(top, z.max())
    if wrong("no_maximum"):
        top = np.zeros_like(top)
    if wrong("maximum_axis_lost"):
        top = z.max(axis=axis)
    exponentials = np.exp2((z - top) * z.dtype.type(np.log2(np.e)))
    total = np.sum(exponentials, axis=axes, keepdims=True)
    if wrong("not_normalised"):
        return exponentials, None
    if wrong("normaliser_multiplied"):
        return exponentials * total, None
    return exponentials / total, None


def attend(  # noqa: PLR0912, PLR0915 - one line after the other, as a student writes it
    query,
    key,
    value,
    wrong,
    *,
    unfused=False,
    mask=None,
    past_key=None,
    past_value=None,
    key_lengths=None,
    query_lengths=None,
    sinks=None,
    alibi_slopes=None,
    is_causal=False,
    causal_alignment="top_left",
    scale=None,
    softcap=None,
    window=None,
):
    """Attention over (B, H, S, E), with every feature; `wrong` says which mistakes to make."""
    dtype = query.dtype
    wide = wider(dtype)

    def settle(array):
        return array.astype(dtype).astype(wide) if unfused else array

    if past_key is not None:
        key, value = np.concatenate([past_key, key], 2), np.concatenate([past_value, value], 2)
    past = 0 if past_key is None else past_key.shape[2]
    present = {"present_key": key.copy(), "present_value": value.copy()}
    if query.shape[-1] != key.shape[-1]:
        raise ValueError("query and key differ in width")
    q, k, v = query.astype(wide), key.astype(wide), value.astype(wide)
    (batch, heads, rows, width), (shared, columns) = q.shape, k.shape[1:3]

    # Which key head each query head reads.
    if shared and heads % shared:
        raise ValueError("query heads are no multiple of the key heads")
    owner = np.arange(heads) // max(heads // max(shared, 1), 1)
    if wrong("heads_tiled") and shared:
        owner = np.arange(heads) % shared
    if wrong("first_head_for_all"):
        owner = np.zeros(heads, int)
    k, v = k[:, owner], v[:, owner]

    factor = scale
    if scale is None or wrong("stated_scale_ignored") or (scale == 0 and wrong("zero_scale_as_default")):
        scale = None
        factor = width**-0.5
    if scale is None:
        for name, other in (
            ("scale_missing", lambda: 1.0),
            ("scale_multiplied", lambda: width**0.5),
            ("scale_one_over_width", lambda: 1 / width),
            ("scale_from_value_width", lambda: v.shape[-1] ** -0.5),
            ("scale_from_all_heads", lambda: (heads * width) ** -0.5),
            ("scale_from_number_of_heads", lambda: heads**-0.5),
            ("scale_from_number_of_keys", lambda: key.shape[2] ** -0.5),
        ):
            if wrong(name):
                factor = other()
    elif wrong("stated_scale_divided"):
        factor = np.inf if scale == 0 else 1 / scale
    scores = settle(np.einsum("bhqe,bhke->bhqk", q * wide(factor), k))
    if wrong("query_and_key_swapped"):
        if rows != columns:
            raise ValueError("cannot be swapped")
        scores = scores.transpose(0, 1, 3, 2)
    logits = scores
    if softcap:
        logits = np.tanh(logits / wide(softcap)) * wide(softcap)

    # Where everybody stands.
    lengths = np.full(batch, columns) if key_lengths is None else key_lengths
    counts = np.full(batch, rows) if query_lengths is None else query_lengths
    bottom = causal_alignment == "bottom_right"
    if wrong("top_left_as_bottom_right"):
        bottom = True
    if wrong("bottom_right_as_top_left"):
        bottom = False
    first = (lengths - counts) if bottom else np.full(batch, past)
    position = first[:, None, None, None] + np.arange(rows)[:, None]
    distance = position - np.arange(columns)
    if alibi_slopes is not None:
        logits = logits - alibi_slopes.astype(wide)[:, None, None] * np.abs(distance).astype(wide)

    # Masks.
    allowed = np.ones((batch, heads, rows, columns), bool)
    if mask is not None and not wrong("mask_ignored"):
        if wrong("mask_of_first_batch_entry") and mask.ndim == 4:
            mask = mask[0]
        if wrong("mask_of_first_head") and mask.ndim > 2:
            mask = mask[..., 0, :, :][..., None, :, :]
        if wrong("three_axes_as_batch") and mask.ndim == 3:
            mask = mask[:, None]
        if mask.dtype == bool:
            if wrong("boolean_mask_inverted"):
                mask = np.logical_not(mask)
            if wrong("boolean_mask_added"):
                logits = logits + mask
            else:
                allowed = allowed & mask
        elif wrong("float_mask_as_boolean"):
            allowed = allowed & (mask != 0)
        else:
            added = mask.astype(wide)
            if wrong("mask_subtracted"):
                logits = logits - added
            elif wrong("mask_scaled_too"):
                logits = logits + added * wide(factor)
            else:
                if not wrong("finite_mask_ignored"):
                    logits = logits + np.where(added == -np.inf, 0, added)
                allowed = allowed & (added != -np.inf)
    if is_causal and not wrong("causal_ignored"):
        ahead = -distance
        if wrong("causal_inverted"):
            seen = ahead > 0
        elif wrong("causal_strict"):
            seen = ahead < 0
        elif wrong("causal_one_ahead"):
            seen = ahead <= 1
        else:
            seen = ahead <= 0
        allowed = allowed & seen
    if window is not None:
        left, right = window
        if left is not None:
            allowed = allowed & (distance <= left)
        if right is not None:
            allowed = allowed & (-distance <= right)
    allowed = allowed & (np.arange(columns) < lengths[:, None, None, None])
    allowed = allowed & (np.arange(rows)[:, None] < counts[:, None, None, None])
    hidden = wide(-1e4) if wrong("excluded_by_a_finite_number") else wide(-np.inf)
    before = logits
    logits = np.where(allowed, logits, hidden)

    # Softmax, the sink beside the keys.
    terms = before if wrong("zeroed_after_softmax") else logits
    if sinks is not None:
        beside = np.broadcast_to(sinks.astype(wide)[:, None, None], (batch, heads, rows, 1))
        terms = np.concatenate([terms, beside], -1)
    axes = (2,) if wrong("softmax_over_queries") else (2, 3) if wrong("softmax_over_all") else (3,)
    top = np.max(terms, axis=axes, keepdims=True, initial=-np.inf)
    if wrong("global_maximum"):
        top = np.max(terms, axis=(2, 3), keepdims=True, initial=-np.inf)
    if wrong("no_maximum"):
        top = np.zeros_like(top)
    if wrong("maximum_axis_lost"):
        if terms.shape[2] != terms.shape[3]:
            raise ValueError("cannot be broadcast")
        top = top.transpose(0, 1, 3, 2)
    dead = np.isneginf(top)
    exponentials = np.exp(terms - np.where(dead, 0, top))
    empty = ~allowed.any(-1, keepdims=True) if sinks is None else np.False_
    lost = allowed.any(-1, keepdims=True) & np.isneginf(terms).all(-1, keepdims=True)
    total = exponentials.sum(axes, keepdims=True)
    inverse = 1 / np.where(total == 0, 1, total)
    if wrong("weights_not_normalised"):
        inverse = np.ones_like(total)
    if wrong("normaliser_multiplied"):
        inverse = total
    weights = settle((exponentials * inverse)[..., :columns])
    if wrong("zeroed_after_softmax"):
        weights = np.where(allowed, weights, 0)
    if wrong("fully_masked_row_nan"):
        weights = np.where(empty, np.nan, weights)
    if wrong("fully_masked_row_uniform") and columns:
        weights = np.where(empty & (np.arange(rows)[:, None] < counts[:, None, None, None]), 1 / columns, weights)
    weights = np.where(lost, np.nan, weights)
    if wrong("weights_transposed"):
        if rows != columns:
            raise ValueError("cannot be transposed")
        output = np.einsum("bhkq,bhke->bhqe", weights, v)
    else:
        output = np.einsum("bhqk,bhke->bhqe", weights, v)
    with np.errstate(all="ignore"):
        logsumexp = np.log(total)[..., 0] if len(axes) == 1 else np.broadcast_to(np.log(total)[..., 0], q.shape[:3])
        if not wrong("logsumexp_without_maximum"):
            logsumexp = logsumexp + np.where(dead, 0, top)[..., 0]
        if wrong("logsumexp_base_two"):
            logsumexp = logsumexp / np.log(2)
    outputs = {"output": output, "weights": weights}
    if axes == (3,) and not wrong("maximum_axis_lost"):
        outputs["logsumexp"] = logsumexp
    outputs["scores"] = scores
    return {**{name: array.astype(dtype) for name, array in outputs.items()}, **present}

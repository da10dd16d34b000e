"""Right attentions behind the signatures of ten libraries and kernels, in NumPy: what differs is the interface.

They compute in float32, whatever they are given, and are causal from the bottom right, as most kernels.
"""

import numpy as np


def _attend(q, k, v, scale, *, causal=False, window=(-1, -1), softcap=0.0, bias=None, allowed=None, slopes=None):
    """Return the output (B, H, Sq, Ev) and the logsumexp (B, H, Sq) of (B, H, S, E) in float32."""
    q, k, v = (np.asarray(each, np.float32) for each in (q, k, v))
    k, v = (np.repeat(each, q.shape[1] // max(each.shape[1], 1), axis=1) for each in (k, v))
    logits = np.einsum("bhqe,bhke->bhqk", q, k) * np.float32(q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        logits = np.float32(softcap) * np.tanh(logits / np.float32(softcap))
    rows, columns = logits.shape[-2:]
    ahead = np.arange(columns) - np.arange(columns - rows, columns)[:, None]
    if slopes is not None:
        logits = logits - np.asarray(slopes, np.float32).reshape(-1, 1, 1) * np.abs(ahead).astype(np.float32)
    logits = logits if bias is None else logits + np.asarray(bias, np.float32)
    left, right = window[0], 0 if causal else window[1]
    keep = np.ones((rows, columns), bool) if allowed is None else allowed
    keep = keep & (ahead >= -left) if left >= 0 else keep
    keep = keep & (ahead <= right) if right >= 0 else keep
    logits = np.where(keep, logits, -np.inf)
    with np.errstate(all="ignore"):
        top = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        top = np.where(np.isneginf(top), np.float32(0), top)
        exponentials = np.exp(logits - top)
        total = exponentials.sum(axis=-1, keepdims=True)
        weights = exponentials / np.where(total == 0, np.float32(1), total)
        return weights @ v, (np.log(total) + top)[..., 0]


def _heads_first(*tensors):
    return tuple(tensor.swapaxes(1, 2) for tensor in tensors)


def flash_attn_func(
    q,
    k,
    v,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
):
    """FlashAttention: tokens before heads, -1 is an open side."""
    options = {"causal": causal, "window": window_size, "softcap": softcap, "slopes": alibi_slopes}
    output, logsumexp = _attend(*_heads_first(q, k, v), softmax_scale, **options)
    return output.swapaxes(1, 2).astype(q.dtype), logsumexp


def flash_attn_varlen_func(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
):
    """FlashAttention of sequences behind one another; where they begin is in int32."""
    assert cu_seqlens_q.dtype == cu_seqlens_k.dtype == np.int32
    output = np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    logsumexp = np.zeros(q.shape[:-1], np.float32)
    for index in range(len(cu_seqlens_q) - 1):
        rows = slice(cu_seqlens_q[index], cu_seqlens_q[index + 1])
        columns = slice(cu_seqlens_k[index], cu_seqlens_k[index + 1])
        assert rows.stop - rows.start <= max_seqlen_q
        assert columns.stop - columns.start <= max_seqlen_k
        one = [tensor.swapaxes(0, 1)[None] for tensor in (q[rows], k[columns], v[columns])]
        found, lse = _attend(*one, softmax_scale, causal=causal, window=window_size, softcap=softcap)
        output[rows], logsumexp[rows] = found[0].swapaxes(0, 1).astype(q.dtype), lse[0].T
    return output, logsumexp.T


def memory_efficient_attention(query, key, value, attn_bias=None, p=0.0, scale=None, *, op=None):
    """As in xFormers: tokens before heads, and a bias that is added."""
    return _attend(*_heads_first(query, key, value), scale, bias=attn_bias)[0].swapaxes(1, 2).astype(query.dtype)


def single_prefill_with_kv_cache(
    q,
    k,
    v,
    custom_mask=None,
    packed_custom_mask=None,
    causal=False,
    kv_layout="NHD",
    pos_encoding_mode="NONE",
    use_fp16_qk_reduction=False,
    sm_scale=None,
    window_left=-1,
    logits_soft_cap=None,
    rope_scale=None,
    rope_theta=None,
    backend="auto",
    return_lse=False,
):
    """As in FlashInfer: one sequence, tokens before heads, a logsumexp in base 2 on request."""
    assert kv_layout == "NHD"
    one = [tensor.swapaxes(0, 1)[None] for tensor in (q, k, v)]
    options = {"causal": causal, "window": (window_left, -1), "softcap": logits_soft_cap or 0.0, "allowed": custom_mask}
    output, logsumexp = _attend(*one, sm_scale, **options)
    output = output[0].swapaxes(0, 1).astype(q.dtype)
    return (output, logsumexp[0].T / np.float32(np.log(2))) if return_lse else output


def paged_attention(
    out, query, key_cache, value_cache, num_kv_heads, scale, block_tables, seq_lens, block_size, max_seq_len
):
    """As in vLLM: one query for each sequence, pages of keys and values, an output that is there before."""
    assert key_cache.shape[1:3] == (block_size, num_kv_heads)
    assert block_tables.dtype == np.int32
    for index, length in enumerate(seq_lens):
        assert length <= max_seq_len
        pages = block_tables[index, : -(-length // block_size)]
        keys, values = (
            pool[pages].reshape(-1, *pool.shape[2:])[:length].swapaxes(0, 1) for pool in (key_cache, value_cache)
        )
        found, _ = _attend(query[index][None, :, None], keys[None], values[None], scale)
        out[index] = found[0, :, 0]


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """As in PyTorch: key heads are fewer on request alone, and the mask is Boolean or added."""
    if query.shape[1] != key.shape[1] and not enable_gqa:
        raise RuntimeError("heads differ")
    boolean = attn_mask is not None and attn_mask.dtype == bool
    options = {"allowed": attn_mask} if boolean else {"bias": attn_mask}
    if is_causal:
        assert attn_mask is None
        options["allowed"] = np.tri(query.shape[2], key.shape[2], dtype=bool)
    return _attend(query, key, value, scale, **options)[0].astype(query.dtype)


def fast_scaled_dot_product_attention(q, k, v, *, scale, mask=None):
    """As in MLX: the scale is demanded."""
    boolean = mask is not None and mask.dtype == bool
    return _attend(q, k, v, scale, **({"allowed": mask} if boolean else {"bias": mask}))[0].astype(q.dtype)


def mha(q, k, v, segment_ids, sm_scale=1.0, causal=False, block_q=128, block_k=128, interpret=False):
    """As in Pallas: tokens before heads, and a scale of 1 unless another is given."""
    assert segment_ids is None
    output, _ = _attend(*_heads_first(q, k, v), sm_scale, causal=causal)
    return output.swapaxes(1, 2).astype(q.dtype)


def attention(q, k, v, causal, sm_scale, warp_specialize=True):
    """As in Triton's tutorial: all demanded, and heads of some widths alone."""
    assert q.shape[-1] == k.shape[-1] == v.shape[-1]
    if q.shape[-1] not in (16, 32, 64, 128, 256):
        raise NotImplementedError("heads of another width")
    return _attend(q, k, v, sm_scale, causal=causal)[0].astype(q.dtype)


def sdpa(q, k, v, attn_scale=None, bias=None, use_causal_mask=False, generate_stats=False, compute_data_type="float"):
    """As in cuDNN's frontend: outputs by the names of its graph, and statistics with an axis of length 1."""
    output, logsumexp = _attend(q, k, v, attn_scale, bias=bias, causal=use_causal_mask)
    return {"O": output.astype(q.dtype), **({"Stats": logsumexp[..., None]} if generate_stats else {})}


def attention_forward(out, lse, q, k, v, batch, heads, kv_heads, q_len, kv_len, head_dim, v_head_dim, scale, causal):
    """As a function of C: memory in one piece, sizes beside it, nothing returned."""
    for array in (out, lse, q, k, v):
        if not array.flags.c_contiguous:
            raise ValueError("memory in one piece is expected")
    q = q.reshape(-1).reshape(batch, heads, q_len, head_dim)
    k = k.reshape(-1).reshape(batch, kv_heads, kv_len, head_dim)
    v = v.reshape(-1).reshape(batch, kv_heads, kv_len, v_head_dim)
    out[...], lse[...] = _attend(q, k, v, scale, causal=causal)

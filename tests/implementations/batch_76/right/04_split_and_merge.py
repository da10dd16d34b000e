"""Keys in three parts that are attended apart and merged; query heads in groups, by einsum; rotations as matrices."""

import math

import ml_dtypes
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")
NEVER = -np.inf


def must(ok, why="inputs"):
    if not ok:
        raise ValueError(why)


def fits(shape, owed):
    return len(shape) <= len(owed) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(owed)))


def carried(dtype):
    return np.float64 if dtype in (np.float64, np.float32) else np.float32


def part_of_keys(q, k, v, see, add, factor, cap, sink):
    """Output and logsumexp over some keys. q: (B, G, R, S, E), k: (B, G, K, E); see, add: (B, G, R, S, K)."""
    z = np.einsum("bgrse,bgke->bgrsk", q, k) * factor
    if cap:
        z = np.tanh(z / cap) * cap
    z = np.where(see, z + add, NEVER)
    if sink is not None:
        z = np.concatenate([z, np.broadcast_to(sink, z.shape[:-1])[..., None]], axis=-1)
    most = z.max(axis=-1, initial=NEVER)
    none = most == NEVER
    e = np.exp(z - np.where(none, 0, most)[..., None])
    total = e.sum(axis=-1)
    w = e[..., : k.shape[2]] / np.where(none, 1, total)[..., None]
    return average(w, v, see), np.where(none, NEVER, most + np.log(np.where(none, 1, total)))


def average(w, v, see):
    """Weighted sums in which excluded places have no part."""
    w = np.where(see, w, 0)
    bad = ~np.isfinite(v)
    clean = np.einsum("bgrsk,bgke->bgrse", w, np.where(bad, 0, v))
    for b, g, j, e in np.argwhere(bad):
        clean[b, g, :, :, e] += np.where(see[b, g, :, :, j], w[b, g, :, :, j] * v[b, g, j, e], 0)
    return clean


def joined(a, la, b, lb):
    none_a, none_b = la == NEVER, lb == NEVER
    most = np.maximum(la, lb)
    most = np.where(most == NEVER, 0, most)
    wa, wb = np.exp(la - most), np.exp(lb - most)
    total = np.where(none_a & none_b, 1, wa + wb)
    a = np.where(none_a[..., None], 0, a * (wa / total)[..., None])
    b = np.where(none_b[..., None], 0, b * (wb / total)[..., None])
    return a + b, np.where(none_a & none_b, NEVER, most + np.log(total))


def places(B, H, S, K, P, mask, key_lengths, query_lengths, alibi, causal, alignment, window, work):
    L = np.full(B, K) if key_lengths is None else key_lengths.astype(np.int64)
    N = np.full(B, S) if query_lengths is None else query_lengths.astype(np.int64)
    start = {"top_left": np.full(B, P), "bottom_right": L - N}[alignment]
    ahead = np.arange(K)[None, None] - start[:, None, None] - np.arange(S)[None, :, None]  # (B, S, K)
    out = np.arange(K)[None, None] >= L[:, None, None]
    out = np.broadcast_to(out, ahead.shape).copy()
    if causal:
        out |= ahead > 0
    if window is not None:
        if window[0] is not None:
            out |= ahead < -window[0]
        if window[1] is not None:
            out |= ahead > window[1]
    see = np.repeat(~out[:, None], H, axis=1)
    add = np.zeros((B, H, S, K), work)
    if alibi is not None:
        add -= alibi.astype(work)[:, None, None] * np.abs(ahead)[:, None].astype(work)
    if mask is not None:
        if mask.dtype == bool:
            see = see & mask
        else:
            mask = np.broadcast_to(mask.astype(work), add.shape)
            see = see & ~(mask == NEVER)
            add = add + mask
    return see, add, N


def checked(query, key, value, mask, lengths, P=0):
    must(query.ndim == 4 and key.ndim == 4 and value.ndim == 4, "rank")
    B, H, S, E = query.shape
    must(key.shape[0] == B and value.shape[0] == B, "batch")
    must(key.shape[3] == E, "width")
    must(key.shape[1:3] == value.shape[1:3], "heads and tokens of key and value")
    must(H == 0 or (key.shape[1] and not H % key.shape[1]), "grouped")
    for given, most in zip(lengths, (key.shape[2], S)):
        must(given is None or (given.shape == (B,) and bool(np.all((given >= 0) & (given <= most)))), "lengths")
    if mask is not None:
        must(1 < mask.ndim < 5 and mask.shape[-1] == P + key.shape[2], "mask")
        must(fits(mask.shape, (B, H, S, P + key.shape[2])) and not np.issubdtype(mask.dtype, np.integer), "mask")


def times_scale(x, scale, work, repeat=1):
    x = x.astype(work)
    if scale is None:
        return x
    scale = np.atleast_2d(scale.astype(work))
    if scale.shape[1] > 1:
        scale = np.repeat(scale, repeat, axis=1)
    return x * scale[..., None, None]


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    must((past_key is None) == (past_value is None))
    P = 0 if past_key is None else past_key.shape[-2]
    checked(query, key, value, mask, (key_lengths, query_lengths), P)
    B, H, S, E = query.shape
    G = key.shape[1]
    for s in (query_scale, key_scale, value_scale):
        must(s is None or fits(s.shape, (B, G)), "scale")
    must(softcap is None or softcap >= 0)
    if past_key is not None:
        must(key_lengths is None and query_lengths is None)
        for old, new in ((past_key, key), (past_value, value)):
            must(old.ndim == 4 and old.shape[:2] == new.shape[:2] and old.shape[3] == new.shape[3], "past")
        must(past_value.shape[2] == P, "past")
        key, value = (np.concatenate(pair, axis=2) for pair in ((past_key, key), (past_value, value)))
    dtype = query.dtype
    if query_scale is not None:
        dtype = np.dtype(ml_dtypes.bfloat16 if output_dtype == "bfloat16" else output_dtype)
    work = carried(dtype)
    K, R = key.shape[2], (H // G if G else 1)
    result = {}
    if query_scale is None and key_scale is None and value_scale is None:
        result = {"present_key": key.copy(), "present_value": value.copy()}
    with np.errstate(all="ignore"):
        see, add, _ = places(B, H, S, K, P, mask, key_lengths, query_lengths, alibi_slopes, is_causal,
                             causal_alignment, window, work)
        see, add = (x.reshape(B, G, R if H else 0, S, K) for x in (see, add))
        q = times_scale(query, query_scale, work, R).reshape(B, G, R if H else 0, S, E)
        k, v = times_scale(key, key_scale, work), times_scale(value, value_scale, work)
        factor = work(E**-0.5 if scale is None else scale)
        sink = None if sinks is None else sinks.astype(work).reshape(1, G, R if H else 0, 1)
        cap = work(softcap) if softcap else None
        output = np.zeros(q.shape[:4] + (v.shape[3],), work)
        log = np.full(q.shape[:4], NEVER, work)
        for n, part in enumerate((slice(0, K // 3), slice(K // 3, K // 2), slice(K // 2, K))):
            one = part_of_keys(q, k[:, :, part], v[:, :, part], see[..., part], add[..., part], factor, cap,
                               sink if n == 1 else None)
            output, log = joined(output, log, *one)
        result["output"] = output.reshape(B, H, S, -1 if output.size else v.shape[3]).astype(dtype)
        result["logsumexp"] = log.reshape(B, H, S)
    return result


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    checked(query, key, value, mask, (key_lengths, query_lengths))
    B, H, S, E = query.shape
    G, K, Ev = key.shape[1], key.shape[2], value.shape[3]
    must(grad_output.shape == (B, H, S, Ev))
    must(grad_logsumexp is None or grad_logsumexp.shape == (B, H, S))
    dtype = query.dtype
    work = carried(dtype)
    R = H // G if G else 1
    with np.errstate(all="ignore"):
        see, add, N = places(B, H, S, K, 0, mask, key_lengths, query_lengths, alibi_slopes, is_causal,
                             causal_alignment, window, work)
        counted = np.broadcast_to((np.arange(S) < N[:, None])[:, None], (B, H, S))
        see = see & counted[..., None]
        factor = work(E**-0.5 if scale is None else scale)
        dq, dk, dv = np.zeros((B, H, S, E), work), np.zeros(key.shape, work), np.zeros(value.shape, work)
        dmask, dsinks = np.zeros((B, H, S, K), work), np.zeros(H, work)
        for b, h in np.ndindex(B, H):
            g, on = h // R, see[b, h]
            q, k, v = query[b, h].astype(work), key[b, g].astype(work), value[b, g].astype(work)
            go = grad_output[b, h].astype(work)
            gl = np.zeros(S, work) if grad_logsumexp is None else grad_logsumexp[b, h].astype(work)
            s = q @ k.T * factor
            t = np.tanh(s / work(softcap)) if softcap else None
            z = np.where(on, (s if t is None else t * work(softcap)) + add[b, h], NEVER)
            wide = z if sinks is None else np.column_stack([z, np.full(S, sinks[h], work)])
            most = wide.max(axis=1, initial=NEVER)
            e = np.exp(wide - np.where(most == NEVER, 0, most)[:, None])
            total = e.sum(axis=1, keepdims=True)
            w = e / np.where(total == 0, 1, total)
            share = w[:, K] if sinks is not None else None
            w = np.where(on, w[:, :K], 0)
            gw = np.where(on, go @ v.T, 0)
            delta = np.where(on, gw * w, 0).sum(axis=1)
            gz = np.where(on, w * (gw - delta[:, None] + gl[:, None]), 0)
            dmask[b, h] = gz
            gs = gz if t is None else np.where(on, gz * (1 - t) * (1 + t), 0)
            for j in range(K):
                rows = on[:, j]
                dv[b, g, j] += (w[rows, j, None] * go[rows]).sum(axis=0)
                dk[b, g, j] += (gs[rows, j, None] * q[rows]).sum(axis=0) * factor
                dq[b, h, rows] += gs[rows, j, None] * k[j] * factor
            if share is not None:
                rows = counted[b, h]
                dsinks[h] += (share[rows] * (gl[rows] - delta[rows])).sum()
        answer = [dq.astype(dtype), dk.astype(dtype), dv.astype(dtype)]
    if mask is not None and mask.dtype != bool:
        lead = 4 - mask.ndim
        dmask = dmask.sum(axis=tuple(range(lead)))
        answer.append(dmask.sum(axis=tuple(a for a, n in enumerate(mask.shape) if n == 1), keepdims=True))
    else:
        answer.append(None)
    answer.append(dsinks if sinks is not None else None)
    return tuple(answer)


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    must(output_a.ndim == 4 and logsumexp_a.ndim == 3 and output_a.shape == output_b.shape)
    must(logsumexp_a.shape == output_a.shape[:3] == logsumexp_b.shape)
    work = carried(output_a.dtype)
    with np.errstate(all="ignore"):
        output, log = joined(*(x.astype(work) for x in (output_a, logsumexp_a, output_b, logsumexp_b)))
        return output.astype(output_a.dtype), log


def multi_head_attention(
    query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None, b_output=None,
    mask=None, *, num_heads, is_causal=False, scale=None,
):
    must(query.ndim == key.ndim == value.ndim == 3)
    D = query.shape[2]
    must(D % num_heads == 0)
    work, width = carried(query.dtype), D // num_heads
    with np.errstate(all="ignore"):
        heads = []
        for x, w, b in ((query, w_query, b_query), (key, w_key, b_key), (value, w_value, b_value)):
            w = w.astype(work).reshape(D, num_heads, width)
            y = np.einsum("bsd,dhe->bhse", x.astype(work), w)
            heads.append(y if b is None else y + b.astype(work).reshape(num_heads, 1, width))
        mixed = scaled_dot_product_attention(*heads, mask, is_causal=is_causal, scale=scale)["output"]
        output = np.einsum("bhse,hed->bsd", mixed, w_output.astype(work).reshape(num_heads, width, D))
        return (output if b_output is None else output + b_output.astype(work)).astype(query.dtype)


def softmax(x, axis=-1):
    if x.size == 0:
        return x.copy()
    work = carried(x.dtype)
    with np.errstate(all="ignore"):
        e = np.exp2((x.astype(work) - x.max(axis=axis, keepdims=True).astype(work)) * work(math.log2(math.e)))
        return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
    must(position_ids.ndim == 2 and inverse_frequencies.ndim == 1)
    turn = np.exp(1j * np.multiply.outer(position_ids.astype(np.float64), inverse_frequencies.astype(np.float64)))
    turn = turn * attention_factor
    return turn.real.astype(inverse_frequencies.dtype), turn.imag.astype(inverse_frequencies.dtype)


def apply_rotary(x, cos, sin, pairing="half"):
    must(x.ndim == 4 and cos.ndim == sin.ndim == 3 and cos.shape == sin.shape)
    must(cos.shape[0] == x.shape[0] and cos.shape[1] == x.shape[2] and 2 * cos.shape[2] <= x.shape[3])
    must(pairing in ("half", "interleaved"))
    work, R = carried(x.dtype), 2 * cos.shape[2]
    turned, rest = x[..., :R].astype(work), x[..., R:]
    if pairing == "half":
        turned = turned.reshape(*x.shape[:3], 2, R // 2)
    else:
        turned = turned.reshape(*x.shape[:3], R // 2, 2).swapaxes(-1, -2)
    c, s = cos.astype(work)[:, None], sin.astype(work)[:, None]
    with np.errstate(all="ignore"):
        turned = np.stack([c * turned[..., 0, :] - s * turned[..., 1, :],
                           s * turned[..., 0, :] + c * turned[..., 1, :]], axis=-2)
    turned = turned if pairing == "half" else turned.swapaxes(-1, -2)
    return np.concatenate([turned.reshape(*x.shape[:3], R).astype(x.dtype), rest], axis=-1)

"""A right implementation, in steps that can be replaced one at a time."""
import numpy as np
import ml_dtypes

NEG = -np.inf
QUANTIZED = tuple(np.dtype(d) for d in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8))


def quantized(x):
    return x.dtype in QUANTIZED


def named(name):
    return np.dtype(getattr(ml_dtypes, name)) if name == "bfloat16" else np.dtype(name)


def wide(dtype):
    return np.dtype(np.float64) if np.dtype(dtype) == np.float64 else np.dtype(np.float32)


# ---------------------------------------------------------------- merging

class Merge:
    def check(self, oa, la, ob, lb):
        if oa.ndim != 4 or ob.ndim != 4:
            raise ValueError("outputs must have rank 4")
        if la.ndim != 3 or lb.ndim != 3:
            raise ValueError("logarithms must have rank 3")
        if oa.shape != ob.shape:
            raise ValueError("outputs differ in shape")
        if la.shape != oa.shape[:3] or lb.shape != oa.shape[:3]:
            raise ValueError("logarithms do not fit the outputs")

    def widen(self, x, like):
        return x.astype(wide(like))

    def larger(self, la, lb):
        return np.maximum(la, lb)

    def weigh(self, l, m):
        return np.exp(l - np.where(m == NEG, 0, m))

    def average(self, oa, wa, ea, ob, wb, eb, total):
        safe = np.where(total == 0, 1, total)
        pa, pb = wa / safe, wb / safe
        return np.where(ea[..., None], 0, pa[..., None] * oa) + np.where(eb[..., None], 0, pb[..., None] * ob)

    def logarithm(self, total, m):
        return np.where(m == NEG, NEG, np.log(np.where(total == 0, 1, total)) + m)

    def __call__(self, output_a, logsumexp_a, output_b, logsumexp_b):
        oa, la, ob, lb = (np.asarray(x) for x in (output_a, logsumexp_a, output_b, logsumexp_b))
        self.check(oa, la, ob, lb)
        kind = oa.dtype
        oa, la, ob, lb = (self.widen(x, kind) for x in (oa, la, ob, lb))
        with np.errstate(all="ignore"):
            m = self.larger(la, lb)
            wa, wb = self.weigh(la, m), self.weigh(lb, m)
            total = wa + wb
            out = self.average(oa, wa, la == NEG, ob, wb, lb == NEG, total)
            lse = self.logarithm(total, m)
        return {"output": out.astype(kind), "logsumexp": lse.astype(wide(kind))}


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    return Merge()(output_a, logsumexp_a, output_b, logsumexp_b)


# ---------------------------------------------------------------- one sequence

class Sequence:
    """Attention of one sequence: q (Hq, N, E), k (Hkv, L, E), v (Hkv, L, Ev)."""

    def position(self, n, off):
        return np.arange(n) + off

    def head(self, h, group):
        return h // group

    def score(self, q, k, scale):
        return (q @ k.T) * scale

    def cap(self, s, c):
        return c * np.tanh(s / c) if c else s

    def bias(self, s, slope, p, j):
        return s - slope * np.abs(p[:, None] - j[None, :]).astype(s.dtype)

    def visible(self, p, j, causal, window, limit):
        ok = np.broadcast_to(j[None, :] < limit, (len(p), len(j))).copy()
        if causal:
            ok &= j[None, :] <= p[:, None]
        if window is not None:
            left, right = window
            if left is not None:
                ok &= j[None, :] >= p[:, None] - left
            if right is not None:
                ok &= j[None, :] <= p[:, None] + right
        return ok

    def add_mask(self, s, ok, mask):
        mask = np.broadcast_to(mask, s.shape)
        if mask.dtype == bool:
            return s, ok & mask
        return s + mask.astype(s.dtype), ok & (mask != NEG)

    def softmax(self, row, sink):
        top = row.max() if row.size else NEG
        if sink is not None:
            top = np.maximum(top, sink)
        if top == NEG:
            return row * 0, row.dtype.type(NEG)
        e = np.exp(row - top)
        total = e.sum() + (np.exp(sink - top) if sink is not None else 0)
        return e / total, np.log(total) + top

    def __call__(self, q, k, v, off, *, is_causal=False, scale=None, softcap=None, window=None, mask=None, sinks=None,
                 slopes=None, limit=None):
        hq, n, e = q.shape
        hkv, s = k.shape[:2]
        t = q.dtype
        out = np.zeros((hq, n, v.shape[2]), t)
        lse = np.full((hq, n), NEG, t)
        weights = np.zeros((hq, n, s), t)
        scores = np.zeros((hq, n, s), t)
        logits = np.full((hq, n, s), NEG, t)
        p, j = self.position(n, off), np.arange(s)
        scale = t.type(1 / np.sqrt(e)) if scale is None else t.type(scale)
        limit = s if limit is None else limit
        with np.errstate(all="ignore"):
            for h in range(hq):
                g = self.head(h, hq // hkv)
                x = scores[h] = self.score(q[h], k[g], scale)
                x = self.cap(x, t.type(softcap) if softcap else None)
                if slopes is not None:
                    x = self.bias(x, slopes[h], p, j)
                ok = self.visible(p, j, is_causal, window, limit)
                if mask is not None:
                    x, ok = self.add_mask(x, ok, mask[h if mask.shape[0] > 1 else 0])
                logits[h] = np.where(ok, x, NEG)
                for i in range(n):
                    w, lse[h, i] = self.softmax(logits[h, i, ok[i]], None if sinks is None else sinks[h])
                    weights[h, i, ok[i]] = w
                    out[h, i] = w @ v[g][ok[i]]
        return {"output": out, "weights": weights, "logsumexp": lse, "scores": scores, "logits": logits}


# ---------------------------------------------------------------- a batch, and quantized tensors

def check_dense(q, k, v, pk, pv):
    if q.ndim != 4 or k.ndim != 4 or v.ndim != 4:
        raise ValueError("rank")
    if q.shape[3] != k.shape[3]:
        raise ValueError("width")
    if not q.shape[0] == k.shape[0] == v.shape[0]:
        raise ValueError("batch")
    if k.shape[1] != v.shape[1] or (q.shape[1] % k.shape[1] if k.shape[1] else q.shape[1]):
        raise ValueError("heads")
    if k.shape[2] != v.shape[2]:
        raise ValueError("length")
    if (pk is None) != (pv is None):
        raise ValueError("a past needs keys and values")
    if pk is not None:
        if pk.ndim != 4 or pv.ndim != 4 or pk.shape[3] != k.shape[3] or pv.shape[3] != v.shape[3]:
            raise ValueError("width of the past")
        if pk.shape[:2] != k.shape[:2] or pv.shape[:2] != v.shape[:2] or pk.shape[2] != pv.shape[2]:
            raise ValueError("past")


def check_lengths(lengths, b, most):
    lengths = np.asarray(lengths)
    if lengths.shape != (b,) or (lengths < 0).any() or (lengths > most).any():
        raise ValueError("lengths")
    return [int(n) for n in lengths]


def check_mask(mask, shape):
    mask = np.asarray(mask)
    if not 2 <= mask.ndim <= 4 or mask.shape[-1] != shape[3]:
        raise ValueError("mask")
    mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    if any(m not in (1, s) for m, s in zip(mask.shape, shape)):
        raise ValueError("mask")
    return mask


class Attention:
    sequence = Sequence()

    def check_scale(self, s, b, hkv, hq):
        s = np.asarray(s)
        if s.ndim > 2:
            raise ValueError("scale")
        for n, m in zip(s.shape[::-1], (hkv, b)):
            if n not in (1, m):
                raise ValueError("scale")
        return s

    def numbers(self, x, work):
        return x.astype(work)

    def spread(self, s, b, hkv):
        return np.broadcast_to(s, (b, hkv))

    def factor(self, s, work):
        return s.astype(work)

    def dequantize(self, x, s, b, hkv, group, work, what, past):
        x = self.numbers(x, work)
        if s is None:
            return x
        f = self.spread(self.factor(s, work), b, hkv)
        if x.shape[1] != hkv:
            f = np.repeat(f, x.shape[1] // hkv, axis=1)
        return x * f[:, :, None, None]

    def work(self, kind, q):
        return wide(kind)

    def result(self, q, output_dtype):
        if quantized(q):
            return named(output_dtype or "float32")
        return q.dtype

    def outputs(self, r):
        return r

    def __call__(self, query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None,
                 query_lengths=None, sinks=None, alibi_slopes=None, query_scale=None, key_scale=None,
                 value_scale=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
                 window=None, output_dtype=None):
        q, k, v = np.asarray(query), np.asarray(key), np.asarray(value)
        pk = None if past_key is None else np.asarray(past_key)
        pv = None if past_value is None else np.asarray(past_value)
        check_dense(q, k, v, pk, pv)
        b, hq, sq, e = q.shape
        hkv, past = k.shape[1], 0 if pk is None else pk.shape[2]
        total = past + k.shape[2]
        lk = [total] * b if key_lengths is None else check_lengths(key_lengths, b, k.shape[2])
        ln = [sq] * b if query_lengths is None else check_lengths(query_lengths, b, sq)
        if mask is not None:
            mask = check_mask(mask, (b, hq, sq, total))
        qs, ks, vs = (None if s is None else self.check_scale(s, b, hkv, hq) for s in (query_scale, key_scale, value_scale))
        kind = self.result(q, output_dtype)
        work = self.work(kind, q)
        group = hq // hkv if hkv else 1
        with np.errstate(all="ignore"):
            parts_k = [self.dequantize(x, ks, b, hkv, group, work, "key", x is pk) for x in ([pk] if past else []) + [k]]
            parts_v = [self.dequantize(x, vs, b, hkv, group, work, "value", x is pv) for x in ([pv] if past else []) + [v]]
            qq = self.dequantize(q, qs, b, hkv, group, work, "query", False)
            kk, vv = np.concatenate(parts_k, 2), np.concatenate(parts_v, 2)
        rows = []
        for i in range(b):
            off = past if causal_alignment == "top_left" else lk[i] - ln[i]
            rows.append(self.sequence(qq[i], kk[i], vv[i], off, is_causal=is_causal, scale=scale, softcap=softcap,
                                      window=window, mask=None if mask is None else mask[i if mask.shape[0] > 1 else 0],
                                      sinks=None if sinks is None else np.asarray(sinks).astype(work),
                                      slopes=None if alibi_slopes is None else np.asarray(alibi_slopes).astype(work),
                                      limit=lk[i]))
        shapes = {"output": (hq, sq, v.shape[3]), "logsumexp": (hq, sq)}
        r = {name: np.stack([x[name] for x in rows]) if rows else np.zeros((0,) + shapes[name], work)
             for name in shapes}
        r["output"] = r["output"].astype(kind)
        return self.outputs(r)


def scaled_dot_product_attention(query, key, value, **rest):
    return Attention()(query, key, value, **rest)


# ---------------------------------------------------------------- packed and paged

def check_heads(hq, hkv, hv):
    if hkv != hv or (hq % hkv if hkv else hq):
        raise ValueError("heads")


def columns(mask, hq, length):
    """The columns of a mask without axes of batch entries and queries, as (heads, 1, length)."""
    if mask is None:
        return None
    mask = np.asarray(mask)
    mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)[0]
    if mask.shape[0] not in (1, hq) or mask.shape[1] != 1 or mask.shape[2] < length:
        raise ValueError("mask")
    return mask[:, :, :length]


def packed(query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
           causal_alignment="top_left", scale=None, softcap=None, window=None, sequence=Sequence()):
    q, k, v = np.asarray(query), np.asarray(key), np.asarray(value)
    if q.ndim != 3 or k.ndim != 3 or v.ndim != 3:
        raise ValueError("rank")
    if q.shape[2] != k.shape[2]:
        raise ValueError("width")
    if k.shape[0] != v.shape[0]:
        raise ValueError("length")
    check_heads(q.shape[1], k.shape[1], v.shape[1])
    if len(query_starts) != len(key_starts):
        raise ValueError("starts")
    work = wide(q.dtype)
    out = np.zeros((q.shape[0], q.shape[1], v.shape[2]), q.dtype)
    lse = np.full(q.shape[:2], NEG, work)
    sinks = None if sinks is None else np.asarray(sinks).astype(work)
    slopes = None if alibi_slopes is None else np.asarray(alibi_slopes).astype(work)
    qs, ks = [int(x) for x in query_starts], [int(x) for x in key_starts]
    for b in range(len(qs) - 1):
        x = q[qs[b]:qs[b + 1]].astype(work).transpose(1, 0, 2)
        y = k[ks[b]:ks[b + 1]].astype(work).transpose(1, 0, 2)
        z = v[ks[b]:ks[b + 1]].astype(work).transpose(1, 0, 2)
        off = 0 if causal_alignment == "top_left" else y.shape[1] - x.shape[1]
        r = sequence(x, y, z, off, is_causal=is_causal, scale=scale, softcap=softcap, window=window,
                     mask=columns(mask, q.shape[1], y.shape[1]), sinks=sinks, slopes=slopes)
        out[qs[b]:qs[b + 1]] = r["output"].transpose(1, 0, 2).astype(q.dtype)
        lse[qs[b]:qs[b + 1]] = r["logsumexp"].T
    return {"output": out, "logsumexp": lse}


def paged_pages(query, key_pool, value_pool, pages, lengths, heads_first, query_lengths=None, mask=None, sinks=None,
                alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
                sequence=Sequence()):
    """pages: the pages of each sequence; lengths: how many keys each has."""
    q, kp, vp = np.asarray(query), np.asarray(key_pool), np.asarray(value_pool)
    if q.ndim != 4 or kp.ndim != 4 or vp.ndim != 4:
        raise ValueError("rank")
    if q.shape[3] != kp.shape[3]:
        raise ValueError("width")
    if heads_first:
        kp, vp = kp.transpose(0, 2, 1, 3), vp.transpose(0, 2, 1, 3)
    check_heads(q.shape[1], kp.shape[2], vp.shape[2])
    if kp.shape[:3] != vp.shape[:3]:
        raise ValueError("pools")
    b, hq, sq, e = q.shape
    if len(lengths) != b or any(n < 0 for n in lengths):
        raise ValueError("lengths")
    work = wide(q.dtype)
    ns = [sq] * b if query_lengths is None else check_lengths(query_lengths, b, sq)
    out = np.zeros((b, hq, sq, vp.shape[3]), q.dtype)
    lse = np.full((b, hq, sq), NEG, work)
    sinks = None if sinks is None else np.asarray(sinks).astype(work)
    slopes = None if alibi_slopes is None else np.asarray(alibi_slopes).astype(work)
    size = kp.shape[1]
    for i in range(b):
        n, length = ns[i], int(lengths[i])
        rows = [(int(pages[i][t // size]), t % size) for t in range(length)]
        k = np.array([kp[a, c] for a, c in rows], dtype=work).reshape(length, kp.shape[2], e).transpose(1, 0, 2)
        v = np.array([vp[a, c] for a, c in rows], dtype=work).reshape(length, vp.shape[2], vp.shape[3]).transpose(1, 0, 2)
        off = 0 if causal_alignment == "top_left" else length - n
        r = sequence(q[i, :, :n].astype(work), k, v, off, is_causal=is_causal, scale=scale, softcap=softcap,
                     window=window, mask=columns(mask, hq, length), sinks=sinks, slopes=slopes)
        out[i, :, :n] = r["output"].astype(q.dtype)
        lse[i, :, :n] = r["logsumexp"]
    return {"output": out, "logsumexp": lse}


def from_list(page_starts, page_indices, last_page_length, size):
    starts = [int(x) for x in page_starts]
    pages = [[int(x) for x in page_indices[s:t]] for s, t in zip(starts, starts[1:])]
    return pages, [(len(p) - 1) * size + int(n) if p else 0 for p, n in zip(pages, last_page_length)]


def paged(query, key_pool, value_pool, block_table, key_lengths, heads_first=False, **rest):
    block_table, size = np.asarray(block_table), np.shape(key_pool)[2 if heads_first else 1]
    if block_table.ndim != 2 or block_table.shape[0] != len(query):
        raise ValueError("batch")
    check_lengths(key_lengths, len(query), block_table.shape[1] * size)
    return paged_pages(query, key_pool, value_pool, block_table, key_lengths, heads_first, **rest)


def paged_heads_first(query, key_pool, value_pool, block_table, key_lengths, **rest):
    return paged(query, key_pool, value_pool, block_table, key_lengths, True, **rest)


def paged_csr(query, key_pool, value_pool, page_starts, page_indices, last_page_length, heads_first=False, **rest):
    size = np.shape(key_pool)[2 if heads_first else 1]
    pages, lengths = from_list(page_starts, page_indices, last_page_length, size)
    return paged_pages(query, key_pool, value_pool, pages, lengths, heads_first, **rest)


def paged_csr_heads_first(query, key_pool, value_pool, page_starts, page_indices, last_page_length, **rest):
    return paged_csr(query, key_pool, value_pool, page_starts, page_indices, last_page_length, True, **rest)

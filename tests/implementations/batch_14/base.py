"""Attention, its serving layouts and the merging of states, one replaceable method for each step."""
import numpy as np
import ml_dtypes

QUANTIZED = tuple(np.dtype(d) for d in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8))
HALF = tuple(np.dtype(d) for d in (np.float16, ml_dtypes.bfloat16))


def named_dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if name == "bfloat16" else np.dtype(name)


def wide(dtype):
    return np.dtype(np.float32) if dtype in HALF else np.dtype(dtype)


def is_quantized(x):
    return x is not None and np.asarray(x).dtype in QUANTIZED


def result_dtype(query, output_dtype):
    if is_quantized(query):
        return named_dtype(output_dtype) if output_dtype is not None else np.dtype(np.float32)
    return np.asarray(query).dtype


def refuse(condition, text):
    if condition:
        raise ValueError(text)


def check_lengths(lengths, batch, most, name):
    if lengths is None:
        return
    lengths = np.asarray(lengths)
    refuse(lengths.shape != (batch,), f"{name}: one for each batch entry")
    refuse((lengths < 0).any() or (lengths > most).any(), f"{name} out of range")


def check(query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
          sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, **_):
    for x in (query, key, value):
        refuse(np.ndim(x) != 4, "rank")
    refuse(query.shape[3] != key.shape[3], "width")
    refuse(len({query.shape[0], key.shape[0], value.shape[0]}) != 1, "batch")
    refuse(key.shape[1] != value.shape[1], "heads")
    hq, hkv = query.shape[1], key.shape[1]
    refuse((hq % hkv != 0) if hkv else hq != 0, "grouped")
    refuse(key.shape[2] != value.shape[2], "length")
    past = 0
    refuse((past_key is None) != (past_value is None), "past")
    if past_key is not None:
        refuse(np.ndim(past_key) != 4 or np.ndim(past_value) != 4, "past rank")
        refuse(past_key.shape[:2] != key.shape[:2] or past_value.shape[:2] != value.shape[:2], "past batch or heads")
        refuse(past_key.shape[3] != key.shape[3] or past_value.shape[3] != value.shape[3], "past width")
        refuse(past_key.shape[2] != past_value.shape[2], "past length")
        past = past_key.shape[2]
    refuse(past_key is not None and (key_lengths is not None or query_lengths is not None), "past and lengths")
    check_lengths(key_lengths, query.shape[0], key.shape[2], "key_lengths")
    check_lengths(query_lengths, query.shape[0], query.shape[2], "query_lengths")
    if mask is not None:
        full = (query.shape[0], hq, query.shape[2], past + key.shape[2])
        mask = np.asarray(mask)
        refuse(not 2 <= mask.ndim <= 4 or mask.shape[-1] != full[-1], "mask")
        refuse(any(m not in (1, f) for m, f in zip(mask.shape[::-1], full[::-1])), "mask")
    for x in (sinks, alibi_slopes):
        refuse(x is not None and np.shape(x) != (hq,), "one for each query head")
    for x in (query_scale, key_scale, value_scale):
        if x is not None:
            refuse(np.ndim(x) > 2, "scale")
            refuse(any(m not in (1, f) for m, f in zip(np.shape(x)[::-1], (hkv, query.shape[0]))), "scale")


class Attention:
    """All of scaled_dot_product_attention on (B, H, S, E)."""

    def check(self, a):
        check(**a)

    def prepend(self, past, new):
        return new if past is None else np.concatenate([past, new], axis=2)

    def full_scale(self, scale, batch, heads, work):
        """(B, Hkv, 1, 1)"""
        return np.broadcast_to(np.asarray(scale, np.float32), (batch, heads)).astype(work)[:, :, None, None]

    def numbers(self, x, work):
        return np.asarray(x).astype(work)

    def dequantize_query(self, q, scale, hkv, work):
        out = self.numbers(q, work)
        if scale is not None:
            s = self.full_scale(scale, q.shape[0], hkv, work)
            out = out * np.repeat(s, q.shape[1] // max(hkv, 1), axis=1)
        return out

    def dequantize_key(self, k, scale, work):
        out = self.numbers(k, work)
        return out if scale is None else out * self.full_scale(scale, k.shape[0], k.shape[1], work)

    def dequantize_value(self, v, scale, work):
        return self.dequantize_key(v, scale, work)

    def share(self, x, hq):
        return np.repeat(x, hq // max(x.shape[1], 1), axis=1)

    def positions(self, sq, past, lengths, counts, alignment):
        """(B, Sq)"""
        first = np.full(lengths.shape, past) if alignment == "top_left" else lengths - counts
        return first[:, None] + np.arange(sq)[None, :]

    def factor(self, scale, e, work):
        return work.type(1.0 / np.sqrt(e) if scale is None else scale)

    def score(self, q, k, factor):
        return (q @ np.swapaxes(k, -1, -2)) * factor

    def cap(self, s, c):
        return s if not c else c * np.tanh(s / c)

    def bias(self, s, slopes, p, work):
        if slopes is None:
            return s
        j = np.arange(s.shape[-1])
        distance = np.abs(p[:, None, :, None] - j).astype(work)
        return s - np.asarray(slopes).astype(work)[None, :, None, None] * distance

    def add_mask(self, s, mask, work):
        if mask is None or mask.dtype == bool:
            return s
        return s + mask.astype(work)

    def allowed(self, shape, p, lengths, is_causal, window, mask):
        j = np.arange(shape[-1])
        p = p[:, None, :, None]
        ok = np.broadcast_to(j < lengths[:, None, None, None], (shape[0], 1, shape[2], shape[3]))
        if is_causal:
            ok = ok & (j <= p)
        if window is not None:
            left, right = window
            if left is not None:
                ok = ok & (j >= p - left)
            if right is not None:
                ok = ok & (j <= p + right)
        ok = np.broadcast_to(ok, shape)
        if mask is not None:
            ok = ok & (mask if mask.dtype == bool else ~np.isneginf(mask.astype(np.float64)))
        return ok

    def softmax(self, logits, ok, sinks, work):
        m = logits.max(axis=-1, initial=-np.inf, keepdims=True)
        if sinks is not None:
            sink = np.asarray(sinks).astype(work)[None, :, None, None]
            m = np.maximum(m, sink)
        m = np.where(np.isneginf(m), work.type(0), m)
        e = np.where(ok, np.exp(logits - m), work.type(0))
        total = e.sum(axis=-1, keepdims=True)
        if sinks is not None:
            total = total + np.exp(sink - m)
        weights = np.where(total == 0, work.type(0), e / np.where(total == 0, 1, total))
        return weights.astype(work), (m + np.log(total))[..., 0].astype(work)

    def weigh(self, weights, v, ok):
        if np.isfinite(v).all():
            return weights @ v
        return np.where(ok[..., None], weights[..., None] * v[:, :, None], 0).sum(axis=-2).astype(weights.dtype)

    def run(self, query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None,
            sinks=None, alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
            causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None):
        a = {k: v for k, v in locals().items() if k != "self"}
        self.check(a)
        refuse(causal_alignment not in ("top_left", "bottom_right"), "causal_alignment")
        dtype = result_dtype(query, output_dtype)
        work = wide(dtype)
        with np.errstate(all="ignore"):
            past = 0 if past_key is None else past_key.shape[2]
            full_key = self.prepend(past_key, key)
            full_value = self.prepend(past_value, value)
            batch, hq, sq, e = query.shape
            hkv = key.shape[1]
            sk = full_key.shape[2]
            lengths = np.full(batch, sk) if key_lengths is None else np.asarray(key_lengths).astype(np.int64)
            counts = np.full(batch, sq) if query_lengths is None else np.asarray(query_lengths).astype(np.int64)
            q = self.dequantize_query(query, query_scale, hkv, work)
            k = self.share(self.dequantize_key(full_key, key_scale, work), hq)
            v = self.share(self.dequantize_value(full_value, value_scale, work), hq)
            p = self.positions(sq, past, lengths, counts, causal_alignment)
            if mask is not None:
                mask = np.asarray(mask)
            scores = self.score(q, k, self.factor(scale, e, work))
            logits = self.cap(scores, softcap)
            logits = self.bias(logits, alibi_slopes, p, work)
            logits = self.add_mask(logits, mask, work)
            ok = self.allowed((batch, hq, sq, sk), p, lengths, is_causal, window, mask)
            logits = np.where(ok, logits, -np.inf).astype(work)
            weights, lse = self.softmax(logits, ok, sinks, work)
            output = self.weigh(weights, v, ok)
        return {"output": output.astype(dtype), "weights": weights, "logsumexp": lse, "scores": scores,
                "logits": logits, "present_key": full_key, "present_value": full_value}


ATTRIBUTES = ("is_causal", "causal_alignment", "scale", "softcap", "window")


class Serving:
    """The layouts: each sequence is gathered and attends alone."""

    def core(self):
        return Attention()

    def sequence(self, q, k, v, mask, a):
        """q (Hq, N, E), k (Hkv, L, E), v (Hkv, L, Ev) of one sequence."""
        if mask is not None:
            mask = np.asarray(mask)
            refuse(not 2 <= mask.ndim <= 4 or mask.shape[-2] != 1 or mask.shape[-1] < k.shape[1], "mask")
            refuse(mask.ndim == 4 and mask.shape[0] != 1, "mask")
            mask = mask[..., :k.shape[1]]
        r = self.core().run(q[None], k[None], v[None], mask=mask, **a)
        return r["output"][0], r["logsumexp"][0]


class Packed(Serving):
    def run(self, query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None,
            is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None):
        a = dict(sinks=sinks, alibi_slopes=alibi_slopes, is_causal=is_causal, causal_alignment=causal_alignment,
                 scale=scale, softcap=softcap, window=window)
        for x in (query, key, value):
            refuse(np.ndim(x) != 3, "rank")
        refuse(key.shape[:2] != value.shape[:2] or key.shape[2] != query.shape[2], "shapes")
        qs, ks = np.asarray(query_starts), np.asarray(key_starts)
        refuse(qs.shape != ks.shape or qs.ndim != 1 or not len(qs), "starts")
        refuse(qs[0] != 0 or ks[0] != 0 or qs[-1] != query.shape[0] or ks[-1] != key.shape[0], "starts")
        refuse((np.diff(qs) < 0).any() or (np.diff(ks) < 0).any(), "starts")
        out = np.zeros(query.shape[:2] + value.shape[2:], query.dtype)
        lse = np.zeros(query.shape[:2], wide(query.dtype))
        for b in range(len(qs) - 1):
            i, j = slice(qs[b], qs[b + 1]), slice(ks[b], ks[b + 1])
            o, l = self.sequence(np.swapaxes(query[i], 0, 1), np.swapaxes(key[j], 0, 1), np.swapaxes(value[j], 0, 1),
                                 mask, a)
            out[i], lse[i] = np.swapaxes(o, 0, 1), np.swapaxes(l, 0, 1)
        return {"output": out, "logsumexp": lse}


class Paged(Serving):
    heads_first = False

    def pages(self, b, a):
        """Page numbers of sequence b and its number of keys."""
        length = int(a["key_lengths"][b])
        size = self.page_size(a["key_pool"])
        return np.asarray(a["block_table"])[b, : -(-length // size)], length

    def page_size(self, pool):
        return pool.shape[2 if self.heads_first else 1]

    def gather(self, pool, pages, length):
        """(Hkv, L, E)"""
        x = pool[np.asarray(pages, np.int64)]
        if self.heads_first:
            x = np.swapaxes(x, 1, 2)
        x = x.reshape((-1,) + x.shape[2:]) if x.size else x.reshape((x.shape[0] * x.shape[1],) + x.shape[2:])
        return np.swapaxes(x[:length], 0, 1)

    def batch(self, a):
        return len(a["key_lengths"])

    def run(self, **a):
        q, kp, vp = a["query"], a["key_pool"], a["value_pool"]
        refuse(any(np.ndim(x) != 4 for x in (q, kp, vp)), "rank")
        refuse(kp.shape[:3] != vp.shape[:3] or kp.shape[3] != q.shape[3], "shapes")
        refuse(self.batch(a) != q.shape[0], "batch")
        check_lengths(a.get("query_lengths"), q.shape[0], q.shape[2], "query_lengths")
        rest = {n: a[n] for n in ("sinks", "alibi_slopes") + ATTRIBUTES if n in a}
        out = np.zeros(q.shape[:3] + vp.shape[3:], q.dtype)
        lse = np.full(q.shape[:3], -np.inf, wide(q.dtype))
        for b in range(q.shape[0]):
            n = q.shape[2] if a.get("query_lengths") is None else int(a["query_lengths"][b])
            pages, length = self.pages(b, a)
            o, l = self.sequence(q[b, :, :n], self.gather(kp, pages, length), self.gather(vp, pages, length),
                                 a.get("mask"), rest)
            out[b, :, :n], lse[b, :, :n] = o, l
        return {"output": out, "logsumexp": lse}


class PagedCsr(Paged):
    def batch(self, a):
        return len(a["page_starts"]) - 1

    def pages(self, b, a):
        s = a["page_starts"]
        pages = np.asarray(a["page_indices"])[int(s[b]): int(s[b + 1])]
        if not len(pages):
            return pages, 0
        return pages, (len(pages) - 1) * self.page_size(a["key_pool"]) + int(a["last_page_length"][b])


class PagedHeadsFirst(Paged):
    heads_first = True


class PagedCsrHeadsFirst(PagedCsr):
    heads_first = True


LAYOUTS = {"packed": Packed, "paged": Paged, "paged_csr": PagedCsr, "paged_heads_first": PagedHeadsFirst,
           "paged_csr_heads_first": PagedCsrHeadsFirst}


def check_merge(output_a, logsumexp_a, output_b, logsumexp_b):
    refuse(np.ndim(output_a) != 4 or np.ndim(output_b) != 4, "outputs have rank 4")
    refuse(np.ndim(logsumexp_a) != 3 or np.ndim(logsumexp_b) != 3, "logarithms have rank 3")
    refuse(np.shape(output_a) != np.shape(output_b), "outputs of different shapes")
    for l in (logsumexp_a, logsumexp_b):
        refuse(np.shape(l) != np.shape(output_a)[:3], "a logarithm for other rows")


def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
    check_merge(output_a, logsumexp_a, output_b, logsumexp_b)
    dtype = output_a.dtype
    work = np.result_type(wide(dtype), wide(logsumexp_a.dtype))
    oa, ob, la, lb = (np.asarray(x).astype(work) for x in (output_a, output_b, logsumexp_a, logsumexp_b))
    with np.errstate(all="ignore"):
        m = np.maximum(la, lb)
        m = np.where(np.isneginf(m), work.type(0), m)
        wa, wb = np.exp(la - m), np.exp(lb - m)
        s = wa + wb
        safe = np.where(s == 0, work.type(1), s)
        part_a = np.where(np.isneginf(la)[..., None], work.type(0), (wa / safe)[..., None] * oa)
        part_b = np.where(np.isneginf(lb)[..., None], work.type(0), (wb / safe)[..., None] * ob)
        return {"output": (part_a + part_b).astype(dtype), "logsumexp": m + np.log(s)}


def scaled_dot_product_attention(query, key, value, **rest):
    return Attention().run(query, key, value, **rest)

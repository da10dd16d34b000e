"""A right scaled_dot_product_attention after the pages, in steps that can be replaced one by one."""

from types import SimpleNamespace

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
QUANTIZED = tuple(np.dtype(t) for t in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8))
HALF = (BFLOAT16, np.dtype(np.float16))
DTYPES = ("float64", "float32", "bfloat16", "float16")


def refuse(condition, why):
    if condition:
        raise ValueError(why)


def is_quantized(array):
    return array.dtype in QUANTIZED


def wide(array):
    return np.asarray(array).astype(np.float64)


def result_dtype(query, output_dtype):
    if is_quantized(query):
        return np.dtype(np.float32) if output_dtype is None else np.dtype(output_dtype)
    return query.dtype


def side_dtype(dtype):
    return np.dtype(np.float32) if dtype in HALF else dtype


def rounded(array, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(dtype)


def whole(array, name, count, most):
    array = np.asarray(array)
    refuse(array.ndim != 1 or array.shape[0] != count, f"{name}: one for each batch entry")
    refuse(array.size and array.dtype.kind not in "iu", f"{name}: whole numbers")
    array = array.astype(np.int64)
    refuse((array < 0).any() or (array > most).any(), f"{name}: out of range")
    return array


def check_scale(scale, name, B, Hkv):
    if scale is None:
        return
    shape = np.shape(scale)
    refuse(len(shape) > 2, f"{name}: rank")
    for have, want in zip(shape[::-1], (Hkv, B)):
        refuse(have not in (1, want), f"{name}: shape")


def check_mask(mask, shape):
    if mask is None:
        return
    refuse(not 2 <= mask.ndim <= 4, "mask: rank")
    refuse(mask.dtype.kind in "iu", "mask: integers")
    refuse(mask.shape[-1] != shape[-1], "mask: last axis")
    for have, want in zip(mask.shape[::-1], shape[::-1]):
        refuse(have not in (1, want), "mask: shape")


def check_common(c, Hq, E):
    refuse(E == 0, "queries without features")
    refuse(c.causal_alignment not in ("top_left", "bottom_right"), "causal_alignment")
    refuse(c.softcap is not None and c.softcap < 0, "softcap")
    refuse(c.window is not None and len(c.window) != 2, "window")
    refuse(c.sinks is not None and np.shape(c.sinks) != (Hq,), "sinks")
    refuse(c.alibi_slopes is not None and np.shape(c.alibi_slopes) != (Hq,), "alibi_slopes")


def check_heads(Hq, Hkv):
    refuse(Hkv == 0 and Hq != 0, "heads")
    refuse(Hkv != 0 and Hq % Hkv, "heads")


def check_dense(c):
    q, k, v = c.query, c.key, c.value
    refuse(any(t.ndim != 4 for t in (q, k, v)), "rank")
    refuse(q.shape[-1] != k.shape[-1], "width")
    refuse(not q.shape[0] == k.shape[0] == v.shape[0], "batch")
    refuse(k.shape[1] != v.shape[1], "heads of key and value")
    check_heads(q.shape[1], k.shape[1])
    refuse(k.shape[2] != v.shape[2], "tokens of key and value")
    P = 0
    refuse((c.past_key is None) != (c.past_value is None), "past_key and past_value come together")
    if c.past_key is not None:
        refuse(c.key_lengths is not None or c.query_lengths is not None, "past and lengths")
        for past, new in ((c.past_key, k), (c.past_value, v)):
            refuse(past.ndim != 4, "rank of the past")
            refuse(past.shape[0] != new.shape[0], "batch of the past")
            refuse(past.shape[1] != new.shape[1], "heads of the past")
            refuse(past.shape[3] != new.shape[3], "width of the past")
        refuse(c.past_key.shape[2] != c.past_value.shape[2], "tokens of the past")
        P = c.past_key.shape[2]
    B, Hq, Sq, E = q.shape
    Sk = k.shape[2]
    if c.key_lengths is not None:
        c.key_lengths = whole(c.key_lengths, "key_lengths", B, Sk)
    if c.query_lengths is not None:
        c.query_lengths = whole(c.query_lengths, "query_lengths", B, Sq)
    check_common(c, Hq, E)
    check_mask(c.mask, (B, Hq, Sq, P + Sk))
    for name in ("query_scale", "key_scale", "value_scale"):
        check_scale(getattr(c, name), name, B, k.shape[1])
    return P


class Steps:
    check = staticmethod(check_dense)

    # ---- layouts

    def dense(self, arguments, outputs=None):
        c = SimpleNamespace(**arguments)
        for name in ("query", "key", "value", "mask", "past_key", "past_value"):
            if getattr(c, name) is not None:
                setattr(c, name, np.asarray(getattr(c, name)))
        c.P = self.check(c)
        c.layout = "dense"
        B, c.Hq, c.Sq, c.E = c.query.shape
        c.B, c.Hkv, c.Sk = B, c.key.shape[1], c.key.shape[2]
        c.dtype = result_dtype(c.query, c.output_dtype)
        c.T = c.P + c.Sk
        q = self.queries(c)
        k, v = self.keys_and_values(c)
        present = self.present(c, k, v)
        c.L = np.full(B, c.T) if c.key_lengths is None else c.key_lengths
        c.N = np.full(B, c.Sq) if c.query_lengths is None else c.query_lengths
        c.mask4 = self.mask_of_rank_4(c.mask)
        c.factor = self.factor(c)
        found = self.attend(q, k, v, self.positions(c), c)
        found |= present
        found = self.round(found, c)
        return found if outputs is None else {name: found[name] for name in outputs}

    def bshe(self, arguments):
        given = dict(arguments)
        for name in ("query", "key", "value", "past_key", "past_value"):
            if given[name] is not None:
                refuse(np.ndim(given[name]) != 4, "rank")
                given[name] = self.heads_first(np.asarray(given[name]), name, arguments)
        output = self.dense(given, outputs=("output",))["output"]
        return {"output": np.ascontiguousarray(output.swapaxes(1, 2))}

    def heads_first(self, array, name, arguments):
        return array.swapaxes(1, 2)

    def serving_mask(self, mask, Hq, most):
        if mask is None:
            return None
        mask = np.asarray(mask)
        refuse(mask.ndim > 4 or mask.ndim < 1 or mask.dtype.kind in "iu", "mask")
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        refuse(mask.shape[0] != 1 or mask.shape[2] != 1 or mask.shape[1] not in (1, Hq), "mask")
        refuse(mask.shape[3] < most, "mask")
        return mask

    def packed(self, arguments):
        c = SimpleNamespace(**arguments)
        q, k, v = (np.asarray(t) for t in (c.query, c.key, c.value))
        refuse(any(t.ndim != 3 for t in (q, k, v)), "rank")
        refuse(q.shape[-1] != k.shape[-1], "width")
        refuse(k.shape[1] != v.shape[1], "heads")
        check_heads(q.shape[1], k.shape[1])
        refuse(k.shape[0] != v.shape[0], "tokens")
        qs, ks = (np.asarray(s).astype(np.int64) for s in (c.query_starts, c.key_starts))
        refuse(qs.ndim != 1 or qs.shape != ks.shape or qs.size < 1, "starts")
        for s, total in ((qs, q.shape[0]), (ks, k.shape[0])):
            refuse(s[0] != 0 or s[-1] != total or (np.diff(s) < 0).any(), "starts")
        check_common(c, q.shape[1], q.shape[2])
        c.layout, c.dtype, c.E, c.Hq = "packed", q.dtype, q.shape[2], q.shape[1]
        c.factor = self.factor(c)
        mask = self.serving_mask(c.mask, c.Hq, int(np.diff(ks).max(initial=0)))
        output = np.zeros((q.shape[0], c.Hq, v.shape[2]))
        logsumexp = np.full((q.shape[0], c.Hq), -np.inf)
        for rows, columns in self.sequences(c, qs, ks):
            found = self.sequence(wide(q[rows]).swapaxes(0, 1), wide(k[columns]).swapaxes(0, 1),
                                  wide(v[columns]).swapaxes(0, 1), None, mask, c)
            output[rows] = found["output"][0].swapaxes(0, 1)
            logsumexp[rows] = found["logsumexp"][0].T
        return self.round({"output": output, "logsumexp": logsumexp}, c)

    def sequences(self, c, qs, ks):
        for b in range(len(qs) - 1):
            yield slice(qs[b], qs[b + 1]), slice(ks[b], ks[b + 1])

    def sequence(self, q, k, v, N, mask, c):
        """One sequence: q (Hq, Sq, E), k (Hkv, L, E), v (Hkv, L, Ev), N of the queries count."""
        s = SimpleNamespace(**vars(c))
        s.B, s.P, s.Sq, s.Sk, s.T, s.Hkv = 1, 0, q.shape[1], k.shape[1], k.shape[1], k.shape[0]
        s.L = np.array([getattr(c, "counted", None) if getattr(c, "counted", None) is not None else s.T])
        s.N = np.array([s.Sq if N is None else N])
        s.mask4 = None if mask is None else self.columns(mask, s.T)
        return self.attend(q[None], k[None], v[None], self.positions(s), s)

    def columns(self, mask, count):
        return mask[..., :count]

    def paged(self, arguments, heads_first=False):
        c = SimpleNamespace(**arguments)
        q, kp, vp = (np.asarray(t) for t in (c.query, c.key_pool, c.value_pool))
        refuse(any(t.ndim != 4 for t in (q, kp, vp)), "rank")
        if heads_first:
            kp, vp = kp.swapaxes(1, 2), vp.swapaxes(1, 2)
        refuse(q.shape[-1] != kp.shape[-1], "width")
        refuse(kp.shape[:3] != vp.shape[:3], "pools")
        check_heads(q.shape[1], kp.shape[2])
        c.layout, c.dtype = "paged", q.dtype
        c.B, c.Hq, c.Sq, c.E = q.shape
        c.page_size = kp.shape[1]
        refuse(c.page_size < 1, "page size")
        check_common(c, c.Hq, c.E)
        if hasattr(c, "block_table"):
            c.table = np.asarray(c.block_table).astype(np.int64)
            refuse(c.table.ndim != 2 or c.table.shape[0] != c.B, "table")
            c.lengths = whole(c.key_lengths, "key_lengths", c.B, c.table.shape[1] * c.page_size)
            pages = [c.table[b, : -(-int(c.lengths[b]) // c.page_size)] for b in range(c.B)]
        else:
            starts = np.asarray(c.page_starts).astype(np.int64)
            refuse(starts.shape != (c.B + 1,) or np.shape(c.last_page_length) != (c.B,), "starts")
            indices = np.asarray(c.page_indices).astype(np.int64)
            refuse(starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > indices.size, "starts")
            pages = [indices[starts[b] : starts[b + 1]] for b in range(c.B)]
            c.lengths = np.array([
                (len(own) - 1) * c.page_size + int(last) if len(own) else 0
                for own, last in zip(pages, np.asarray(c.last_page_length))
            ], dtype=np.int64)
        N = np.full(c.B, c.Sq) if c.query_lengths is None else whole(c.query_lengths, "query_lengths", c.B, c.Sq)
        c.factor = self.factor(c)
        mask = self.serving_mask(c.mask, c.Hq, int(c.lengths.max(initial=0)))
        output = np.zeros(q.shape[:3] + vp.shape[3:])
        logsumexp = np.full(q.shape[:3], -np.inf)
        for b in range(c.B):
            c.b = b
            k, v = self.gather(kp, vp, pages[b], int(c.lengths[b]), c)
            found = self.sequence(wide(q[b]), k, v, N[b], mask, c)
            output[b], logsumexp[b] = found["output"][0], found["logsumexp"][0]
        return self.round({"output": output, "logsumexp": logsumexp}, c)

    def gather(self, key_pool, value_pool, pages, count, c):
        j = np.arange(count)
        page, slot = pages[j // c.page_size], j % c.page_size
        return wide(key_pool[page, slot]).swapaxes(0, 1), wide(value_pool[page, slot]).swapaxes(0, 1)

    # ---- steps

    def scale_of_rank_4(self, scale, c):
        scale = wide(scale)
        return scale.reshape((1,) * (2 - scale.ndim) + scale.shape + (1, 1))

    def numbers(self, array, c):
        return wide(array)

    def dequantize(self, array, scale, name, c):
        with np.errstate(all="ignore"):
            if not is_quantized(array) or scale is None:
                return wide(array)
            scale = self.scale_of_rank_4(scale, c)
            if name == "query" and scale.shape[1] != 1:
                scale = np.repeat(scale, array.shape[1] // scale.shape[1], axis=1)
            return self.numbers(array, c) * scale

    def queries(self, c):
        return self.dequantize(c.query, c.query_scale, "query", c)

    def keys_and_values(self, c):
        return tuple(
            self.dequantize(self.join(past, new), scale, name, c)
            for past, new, scale, name in (
                (c.past_key, c.key, c.key_scale, "key"),
                (c.past_value, c.value, c.value_scale, "value"),
            )
        )

    def join(self, past, new):
        return new if past is None else np.concatenate([past, new], axis=2)

    def present(self, c, k, v):
        found = {}
        for name, past, new, product in (("present_key", c.past_key, c.key, k), ("present_value", c.past_value, c.value, v)):
            joined = product if is_quantized(new) else self.join(past, new)
            found[name] = np.array(rounded(joined, c.dtype))
        return found

    def factor(self, c):
        return float(c.E) ** -0.5 if c.scale is None else float(c.scale)

    def positions(self, c):
        i = np.arange(c.Sq)[None]
        if c.causal_alignment == "top_left":
            return np.repeat(i + c.P, c.B, axis=0)
        return i + (c.L - c.N)[:, None]

    def mask_of_rank_4(self, mask):
        return None if mask is None else mask.reshape((1,) * (4 - mask.ndim) + mask.shape)

    def shared(self, array, c):
        return array if c.Hq == c.Hkv else np.repeat(array, c.Hq // c.Hkv, axis=1)

    def dots(self, q, k, c):
        return np.matmul(q, self.shared(k, c).swapaxes(-1, -2))

    def reach(self, p, c):
        """(B, 1, Sq, T): what causality, window and lengths leave."""
        j = np.arange(c.T)[None, None]
        at = p[:, :, None]
        allowed = np.broadcast_to(j < c.L[:, None, None], (c.B, c.Sq, c.T)).copy()
        if c.is_causal:
            allowed &= j <= at
        if c.window is not None:
            left, right = c.window
            if left is not None:
                allowed &= j >= at - left
            if right is not None:
                allowed &= j <= at + right
        return allowed[:, None]

    def cap(self, scores, c):
        return c.softcap * np.tanh(scores / c.softcap) if c.softcap else scores

    def distances(self, p, c):
        return np.abs(p[:, :, None] - np.arange(c.T)).astype(np.float64)

    def attend(self, q, k, v, p, c):
        with np.errstate(all="ignore"):
            allowed = np.broadcast_to(self.reach(p, c), (c.B, c.Hq, c.Sq, c.T)).copy()
            scores = self.dots(q, k, c) * c.factor
            logits = self.cap(scores, c)
            if c.alibi_slopes is not None:
                logits = logits - wide(c.alibi_slopes)[:, None, None] * self.distances(p, c)[:, None]
            logits, allowed = self.add_mask(logits, allowed, c)
            logits = np.where(allowed, logits, -np.inf)
            sinks = None if c.sinks is None else wide(c.sinks)[None, :, None]
            found = self.softmax(logits, allowed, self.shared(v, c), sinks, c)
            return {"scores": scores, "logits": logits} | found

    def add_mask(self, logits, allowed, c):
        if c.mask4 is not None:
            if c.mask4.dtype == bool:
                allowed = allowed & c.mask4
            else:
                mask = wide(c.mask4)
                allowed = allowed & (mask != -np.inf)
                logits = logits + mask
        return logits, allowed

    def softmax(self, logits, allowed, v, sinks, c):
        largest = logits.max(axis=-1, initial=-np.inf)
        if sinks is not None:
            largest = np.maximum(largest, sinks)
        base = np.where(largest == -np.inf, 0.0, largest)
        powers = np.where(allowed, np.exp(logits - base[..., None]), 0.0)
        total = powers.sum(axis=-1)
        if sinks is not None:
            total = total + np.exp(sinks - base)
        logsumexp = np.log(total) + base
        weights = np.where(allowed & (total != 0)[..., None], powers / total[..., None], 0.0)
        return {"weights": weights, "logsumexp": logsumexp, "output": self.weigh(weights, allowed, v)}

    def weigh(self, weights, allowed, v):
        if np.isfinite(v).all():
            return np.matmul(weights, v)
        return np.where(allowed[..., None], weights[..., None] * v[:, :, None], 0.0).sum(axis=-2)

    def round(self, found, c):
        side = side_dtype(c.dtype)
        return {
            name: rounded(array, c.dtype if name in ("output", "present_key", "present_value") else side)
            for name, array in found.items()
        }


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
    causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
):
    return Steps().dense(dict(locals()))

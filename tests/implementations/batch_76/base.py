"""A right implementation of the pages, in steps that can be replaced one at a time. All is carried in float64."""

import math

import ml_dtypes
import numpy as np

F64 = np.float64
HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
QUANTIZED = tuple(np.dtype(t) for t in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8))
DTYPES = ("float64", "float32", "float16", "bfloat16")


def refuse(condition, message):
    if condition:
        raise ValueError(message)


def dtype_of(name):
    return np.dtype(ml_dtypes.bfloat16) if str(name) == "bfloat16" else np.dtype(name)


def wide(dtype):
    """The dtype of outputs that may be wider than the run."""
    return np.dtype(np.float32) if dtype in HALF else dtype


def masked_product(weights, rows, allowed):
    """weights @ rows, in which nothing comes of pairs that are not allowed."""
    weights = np.where(allowed, weights, 0.0)
    if np.isfinite(rows).all():
        return weights @ rows
    result = np.zeros(np.broadcast_shapes(weights.shape[:-2], rows.shape[:-2]) + (weights.shape[-2], rows.shape[-1]))
    for j in range(rows.shape[-2]):
        term = weights[..., :, j, None] * rows[..., j, None, :]
        result = result + np.where(allowed[..., :, j, None], term, 0.0)
    return result


class Attention:
    """Forward attention. `c` (the context of a call) holds what the steps need."""

    def check(self, c):
        q, k, v = c.query, c.key, c.value
        refuse(q.ndim != 4 or k.ndim != 4 or v.ndim != 4, "rank")
        refuse(q.shape[3] != k.shape[3], "width")
        refuse(q.shape[3] == 0, "no features")
        refuse(not q.shape[0] == k.shape[0] == v.shape[0], "batch")
        refuse(k.shape[1] != v.shape[1], "heads of key and value")
        refuse(k.shape[1] == 0 and q.shape[1] != 0, "no key heads")
        refuse(k.shape[1] != 0 and q.shape[1] % k.shape[1] != 0, "grouped")
        refuse(k.shape[2] != v.shape[2], "length")
        refuse((c.past_key is None) != (c.past_value is None), "half a past")
        if c.past_key is not None:
            pk, pv = c.past_key, c.past_value
            refuse(pk.ndim != 4 or pv.ndim != 4, "rank of the past")
            refuse(pk.shape[0] != k.shape[0] or pv.shape[0] != k.shape[0], "batch of the past")
            refuse(pk.shape[1] != k.shape[1] or pv.shape[1] != k.shape[1], "heads of the past")
            refuse(pk.shape[2] != pv.shape[2], "length of the past")
            refuse(pk.shape[3] != k.shape[3] or pv.shape[3] != v.shape[3], "width of the past")
            refuse(c.key_lengths is not None or c.query_lengths is not None, "past and lengths")
        self.check_lengths(c.key_lengths, k.shape[0], k.shape[2])
        self.check_lengths(c.query_lengths, q.shape[0], q.shape[2])
        refuse(c.softcap is not None and c.softcap < 0, "softcap")
        refuse(c.causal_alignment not in ("top_left", "bottom_right"), "alignment")
        for vector in (c.sinks, c.alibi_slopes):
            refuse(vector is not None and vector.shape != (q.shape[1],), "one number for each query head")
        self.check_scales(c)

    def check_lengths(self, lengths, batch, most):
        if lengths is not None:
            refuse(lengths.shape != (batch,), "lengths for another batch")
            refuse(bool((lengths < 0).any() or (lengths > most).any()), "lengths out of range")

    def check_scales(self, c):
        for scale in (c.query_scale, c.key_scale, c.value_scale):
            self.check_scale(scale, c.key.shape[0], c.key.shape[1])

    def check_scale(self, scale, batch, heads):
        if scale is not None:
            refuse(scale.ndim > 2, "scale rank")
            for length, owed in zip(scale.shape[::-1], (heads, batch)):
                refuse(length not in (1, owed), "scale shape")

    def check_mask(self, mask, shape):
        if mask is None:
            return
        refuse(not 2 <= mask.ndim <= 4, "mask rank")
        refuse(mask.dtype != bool and mask.dtype.kind in "iu", "mask of integers")
        refuse(mask.shape[-1] != shape[-1], "mask columns")
        for length, owed in zip(mask.shape[::-1], shape[::-1]):
            refuse(length not in (1, owed), "mask shape")

    def prepend(self, past, new):
        return new if past is None else np.concatenate([past, new], axis=2)

    def scale_table(self, scale, batch, heads):
        return np.broadcast_to(scale.astype(F64), (batch, heads))

    def widen_key(self, x, scale, batch, heads):
        x = x.astype(F64)
        return x if scale is None else x * self.scale_table(scale, batch, heads)[:, :, None, None]

    def widen_query(self, x, scale, batch, heads, group):
        x = x.astype(F64)
        if scale is None:
            return x
        return x * np.repeat(self.scale_table(scale, batch, heads), group, axis=1)[:, :, None, None]

    def counts(self, c):
        c.L = np.full(c.B, c.K) if c.key_lengths is None else np.asarray(c.key_lengths).astype(np.int64)
        c.N = np.full(c.B, c.Sq) if c.query_lengths is None else np.asarray(c.query_lengths).astype(np.int64)

    def positions(self, c):
        first = np.full(c.B, c.P) if c.causal_alignment == "top_left" else c.L - c.N
        return first[:, None] + np.arange(c.Sq)[None, :]

    def allowed(self, c):
        j = np.arange(c.K)[None, None, :]
        p = c.p[:, :, None]
        see = np.broadcast_to(j < c.L[:, None, None], (c.B, c.Sq, c.K))
        if c.is_causal:
            see = see & (j <= p)
        if c.window is not None:
            left, right = c.window
            if left is not None:
                see = see & (j >= p - left)
            if right is not None:
                see = see & (j <= p + right)
        see = np.broadcast_to(see[:, None], (c.B, c.H, c.Sq, c.K))
        if c.mask is not None:
            see = see & self.mask_allowed(c)
        return see

    def mask4(self, c):
        return np.broadcast_to(c.mask, (c.B, c.H, c.Sq, c.K))

    def mask_allowed(self, c):
        mask = self.mask4(c)
        return mask if mask.dtype == bool else mask.astype(F64) != -np.inf

    def share(self, x, group):
        return np.repeat(x, group, axis=1)

    def scores(self, c):
        return (c.q @ np.swapaxes(c.k, -1, -2)) * c.factor

    def cap(self, c, s):
        return c.softcap * np.tanh(s / c.softcap) if c.softcap else s

    def bias(self, c):
        return c.alibi_slopes.astype(F64)[None, :, None, None] * self.distance(c)

    def distance(self, c):
        return np.abs(c.p[:, None, :, None] - np.arange(c.K)).astype(F64)

    def logits(self, c, s):
        s = self.cap(c, s)
        if c.alibi_slopes is not None:
            s = s - self.bias(c)
        if c.mask is not None and c.mask.dtype != bool:
            s = s + self.mask4(c).astype(F64)
        return np.where(c.see, s, -np.inf)

    def largest(self, c, logits):
        return logits.max(axis=-1, initial=-np.inf)

    def softmax(self, c, logits):
        most = self.largest(c, logits)
        if c.sinks is not None:
            sink = np.broadcast_to(c.sinks.astype(F64)[None, :, None], most.shape)
            most = np.maximum(most, sink)
        base = np.where(most == -np.inf, 0.0, most)
        e = np.where(c.see, np.exp(logits - base[..., None]), 0.0)
        total = e.sum(axis=-1)
        if c.sinks is not None:
            total = total + self.sink_share(c, np.exp(sink - base))
        weights = np.where(c.see, e / np.where(total == 0, 1.0, total)[..., None], 0.0)
        return weights, base + np.log(total)

    def sink_share(self, c, e):
        return e

    def weigh(self, c, weights):
        return masked_product(weights, c.v, c.see)

    def context(self, given):
        c = type("Context", (), {})()
        arrays = ("query key value mask past_key past_value key_lengths query_lengths sinks alibi_slopes query_scale"
                  " key_scale value_scale").split()
        for name, item in given.items():
            setattr(c, name, np.asarray(item) if name in arrays and item is not None else item)
        if c.window is not None:
            c.window = tuple(c.window)
        return c

    def prepare(self, c):
        self.check(c)
        c.B, c.H, c.Sq, c.E = c.query.shape
        c.Hkv = c.key.shape[1]
        c.P = 0 if c.past_key is None else c.past_key.shape[2]
        c.present_key = self.prepend(c.past_key, c.key)
        c.present_value = self.prepend(c.past_value, c.value)
        c.K = c.P + c.key.shape[2]
        c.Ev = c.value.shape[3]
        self.check_mask(c.mask, (c.B, c.H, c.Sq, c.K))
        c.dtype = c.query.dtype
        if c.dtype in QUANTIZED:
            c.dtype = dtype_of(c.output_dtype or "float32")
        c.group = c.H // c.Hkv if c.Hkv else 1
        c.factor = 1 / math.sqrt(c.E) if c.scale is None else float(c.scale)
        self.counts(c)
        c.p = self.positions(c)
        c.q = self.widen_query(c.query, c.query_scale, c.B, c.Hkv, c.group)
        c.k0 = self.widen_key(c.present_key, c.key_scale, c.B, c.Hkv)
        c.v0 = self.widen_key(c.present_value, c.value_scale, c.B, c.Hkv)
        c.k, c.v = self.share(c.k0, c.group), self.share(c.v0, c.group)
        c.see = self.allowed(c)

    def attend(self, c):
        c.s = self.scores(c)
        c.l = self.logits(c, c.s)
        c.w, c.lse = self.softmax(c, c.l)
        c.o = self.weigh(c, c.w)

    def finish(self, c):
        big = wide(c.dtype)
        scaled = any(s is not None for s in (c.query_scale, c.key_scale, c.value_scale))
        result = {
            "output": c.o.astype(c.dtype), "weights": c.w.astype(big), "logsumexp": c.lse.astype(big),
            "scores": c.s.astype(big), "logits": c.l.astype(big),
        }
        if not scaled:
            result["present_key"] = np.array(c.present_key)
            result["present_value"] = np.array(c.present_value)
        return result

    def __call__(self, **given):
        with np.errstate(all="ignore"):
            c = self.context(given)
            self.prepare(c)
            self.attend(c)
            return self.finish(c)


def attention_function(step=Attention, only=None):
    one = step()

    def scaled_dot_product_attention(
        query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
        alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False,
        causal_alignment="top_left", scale=None, softcap=None, window=None, output_dtype=None,
    ):
        result = one(**locals_of(locals()))
        return result if only is None else {name: result[name] for name in only}

    return scaled_dot_product_attention


def locals_of(names):
    return {name: item for name, item in names.items() if name not in ("one", "only", "step")}


# ---------------------------------------------------------------------------------------------- layouts of serving


class Packed:
    attention = Attention

    def sequences(self, query_starts, key_starts):
        """For each sequence the queries and the keys of it."""
        for b in range(len(query_starts) - 1):
            yield (np.arange(query_starts[b], query_starts[b + 1]), np.arange(key_starts[b], key_starts[b + 1]))

    def __call__(self, query, key, value, query_starts, key_starts, mask, **rest):
        one = self.attention()
        output = np.zeros((query.shape[0], query.shape[1], value.shape[2]), query.dtype)
        lse = np.full(query.shape[:2], -np.inf, wide(query.dtype))
        for rows, columns in self.sequences(np.asarray(query_starts), np.asarray(key_starts)):
            if len(rows) == 0:
                continue
            got = one(query=query[rows].swapaxes(0, 1)[None], key=key[columns].swapaxes(0, 1)[None],
                      value=value[columns].swapaxes(0, 1)[None], mask=first_columns(mask, len(columns)),
                      **none_of("past_key past_value key_lengths query_lengths query_scale key_scale value_scale"
                                " output_dtype"), **rest)
            output[rows] = got["output"][0].swapaxes(0, 1)
            lse[rows] = got["logsumexp"][0].swapaxes(0, 1)
        return output, lse


def none_of(names):
    return {name: None for name in names.split()}


def first_columns(mask, count):
    if mask is None:
        return None
    mask = np.asarray(mask)
    if mask.ndim < 2:
        mask = mask.reshape((1,) * (2 - mask.ndim) + mask.shape)
    return mask[..., :count]


def packed_function(step=Packed):
    one = step()

    def scaled_dot_product_attention(
        query, key, value, query_starts, key_starts, mask=None, sinks=None, alibi_slopes=None, is_causal=False,
        causal_alignment="top_left", scale=None, softcap=None, window=None,
    ):
        return one(**locals_of(locals()))

    return scaled_dot_product_attention


class Paged:
    attention = Attention
    heads_first = False

    def pools(self, key_pool, value_pool):
        if self.heads_first:
            return np.swapaxes(key_pool, 1, 2), np.swapaxes(value_pool, 1, 2)
        return key_pool, value_pool

    def read(self, pool, pages, length):
        return pool[pages].reshape((-1,) + pool.shape[2:])[:length].swapaxes(0, 1)

    def pages_of_table(self, table, length, size):
        return np.asarray(table)[: -(-int(length) // size)]

    def listed(self, starts, indices, last, b, size):
        pages = np.asarray(indices)[int(starts[b]) : int(starts[b + 1])]
        return pages, (len(pages) - 1) * size + int(last[b]) if len(pages) else 0

    def compute(self, query, key_pool, value_pool, sequence, query_lengths, mask, rest):
        key_pool, value_pool = self.pools(np.asarray(key_pool), np.asarray(value_pool))
        one = self.attention()
        output = np.zeros(query.shape[:3] + value_pool.shape[-1:], query.dtype)
        lse = np.full(query.shape[:3], -np.inf, wide(query.dtype))
        for b in range(query.shape[0]):
            pages, length = sequence(b, key_pool.shape[1])
            count = query.shape[2] if query_lengths is None else int(query_lengths[b])
            pages = np.asarray(pages, dtype=np.int64)
            got = one(query=query[b : b + 1, :, :count], key=self.read(key_pool, pages, length)[None],
                      value=self.read(value_pool, pages, length)[None], mask=first_columns(mask, length),
                      **none_of("past_key past_value key_lengths query_lengths query_scale key_scale value_scale"
                                " output_dtype"), **rest)
            output[b, :, :count] = got["output"][0]
            lse[b, :, :count] = got["logsumexp"][0]
        return output, lse

    def by_table(self, query, key_pool, value_pool, block_table, key_lengths, query_lengths, mask, **rest):
        def sequence(b, size):
            return self.pages_of_table(block_table[b], key_lengths[b], size), int(key_lengths[b])

        return self.compute(query, key_pool, value_pool, sequence, query_lengths, mask, rest)

    def by_list(self, query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths, mask,
                **rest):
        def sequence(b, size):
            return self.listed(page_starts, page_indices, last_page_length, b, size)

        return self.compute(query, key_pool, value_pool, sequence, query_lengths, mask, rest)


def paged_function(step=Paged):
    one = step()

    def scaled_dot_product_attention(
        query, key_pool, value_pool, block_table, key_lengths, query_lengths=None, mask=None, sinks=None,
        alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None, window=None,
    ):
        return one.by_table(**locals_of(locals()))

    return scaled_dot_product_attention


def paged_csr_function(step=Paged):
    one = step()

    def scaled_dot_product_attention(
        query, key_pool, value_pool, page_starts, page_indices, last_page_length, query_lengths=None, mask=None,
        sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None, softcap=None,
        window=None,
    ):
        return one.by_list(**locals_of(locals()))

    return scaled_dot_product_attention


# ------------------------------------------------------------------------------------------------------- backward


class Backward(Attention):
    def check_gradients(self, c):
        refuse(c.grad_output.shape != (c.B, c.H, c.Sq, c.Ev), "grad_output")
        refuse(c.grad_logsumexp is not None and c.grad_logsumexp.shape != (c.B, c.H, c.Sq), "grad_logsumexp")

    def count_rows(self, c):
        """Queries that do not count may attend to nothing."""
        c.counted = np.broadcast_to((np.arange(c.Sq) < c.N[:, None])[:, None], (c.B, c.H, c.Sq))
        c.see = c.see & c.counted[..., None]

    def gradient_of_logsumexp(self, c):
        zero = np.zeros((c.B, c.H, c.Sq))
        return zero if c.grad_logsumexp is None else np.where(c.counted, c.grad_logsumexp.astype(F64), 0.0)

    def gradient_of_output(self, c):
        return np.where(c.see.any(axis=-1)[..., None], c.grad_output.astype(F64), 0.0)

    def grad_weights(self, c):
        return np.where(c.see, c.go @ np.swapaxes(c.v, -1, -2), 0.0)

    def delta(self, c):
        return np.where(c.see, c.w * c.gw, 0.0).sum(axis=-1)

    def grad_logits(self, c):
        return np.where(c.see, c.w * (c.gw - c.d[..., None] + c.gl[..., None]), 0.0)

    def grad_scores(self, c):
        if not c.softcap:
            return c.gz
        return np.where(c.see, c.gz * (1 - np.tanh(c.s / c.softcap) ** 2), 0.0)

    def grad_mask(self, c):
        grad = c.gz
        shape = (1,) * (4 - c.mask.ndim) + c.mask.shape
        axes = tuple(a for a in range(4) if shape[a] == 1 and grad.shape[a] != 1)
        return grad.sum(axis=axes, keepdims=True).reshape(c.mask.shape)

    def grad_sinks(self, c):
        sink = np.broadcast_to(c.sinks.astype(F64)[None, :, None], c.lse.shape)
        share = np.where(sink == -np.inf, 0.0, np.exp(sink - c.lse))
        return np.where(c.counted, share * (c.gl - c.d), 0.0).sum(axis=(0, 2))

    def grad_query(self, c):
        return masked_product(c.gs, c.k, c.see) * c.factor

    def turned(self, x):
        return np.swapaxes(x, -1, -2)

    def grad_key(self, c):
        return self.group(c, masked_product(self.turned(c.gs), c.q, self.turned(c.see)) * c.factor)

    def grad_value(self, c):
        return self.group(c, masked_product(self.turned(c.w), c.go, self.turned(c.see)))

    def group(self, c, x):
        if c.H == 0:
            return np.zeros((c.B, c.Hkv) + x.shape[2:])
        return x.reshape((c.B, c.Hkv, c.group) + x.shape[2:]).sum(axis=2)

    def __call__(self, grad_output, output, logsumexp, grad_logsumexp, **given):
        with np.errstate(all="ignore"):
            c = self.context(given)
            c.grad_output = np.asarray(grad_output)
            c.stored_output = None if output is None else np.asarray(output)
            c.stored_logsumexp = None if logsumexp is None else np.asarray(logsumexp)
            c.grad_logsumexp = None if grad_logsumexp is None else np.asarray(grad_logsumexp)
            self.prepare(c)
            self.check_gradients(c)
            self.count_rows(c)
            c.s = self.scores(c)
            c.l = self.logits(c, c.s)
            c.w, c.lse = self.softmax(c, c.l)
            c.go = self.gradient_of_output(c)
            c.gl = self.gradient_of_logsumexp(c)
            c.gw = self.grad_weights(c)
            c.d = self.delta(c)
            c.gz = self.grad_logits(c)
            c.gs = self.grad_scores(c)
            big = wide(c.dtype)
            result = {
                "grad_query": self.grad_query(c).astype(c.dtype), "grad_key": self.grad_key(c).astype(c.dtype),
                "grad_value": self.grad_value(c).astype(c.dtype),
            }
            if c.mask is not None and c.mask.dtype != bool:
                result["grad_mask"] = self.grad_mask(c).astype(big)
            if c.sinks is not None:
                result["grad_sinks"] = self.grad_sinks(c).astype(big)
            result["delta"] = c.d.astype(big)
            result["grad_scores"] = c.gs.astype(big)
            return result


def backward_function(step=Backward):
    one = step()

    def scaled_dot_product_attention_backward(
        grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
        query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
        softcap=None, window=None,
    ):
        return one(**none_of("past_key past_value query_scale key_scale value_scale output_dtype"),
                   **locals_of(locals()))

    return scaled_dot_product_attention_backward


# ---------------------------------------------------------------------------------------------------------- merge


class Merge:
    def check(self, oa, la, ob, lb):
        refuse(oa.ndim != 4 or ob.ndim != 4 or la.ndim != 3 or lb.ndim != 3, "rank")
        refuse(oa.shape != ob.shape, "outputs")
        refuse(la.shape != oa.shape[:3] or lb.shape != oa.shape[:3], "logsumexp")

    def empty(self, log):
        return log == -np.inf

    def distance(self, log, most):
        return log - most

    def average(self, oa, ob, wa, wb, ea, eb):
        total = np.where(wa + wb == 0, 1.0, wa + wb)
        a = np.where(ea[..., None], 0.0, (wa / total)[..., None] * oa)
        b = np.where(eb[..., None], 0.0, (wb / total)[..., None] * ob)
        return a + b

    def __call__(self, output_a, logsumexp_a, output_b, logsumexp_b):
        with np.errstate(all="ignore"):
            dtype = np.asarray(output_a).dtype
            arrays = [np.asarray(x) for x in (output_a, logsumexp_a, output_b, logsumexp_b)]
            self.check(*arrays)
            oa, la, ob, lb = (x.astype(F64) for x in arrays)
            ea, eb = self.empty(la), self.empty(lb)
            most = np.maximum(np.where(ea, -np.inf, la), np.where(eb, -np.inf, lb))
            most = np.where(ea & eb, 0.0, most)
            wa = np.where(ea, 0.0, np.exp(self.distance(la, most)))
            wb = np.where(eb, 0.0, np.exp(self.distance(lb, most)))
            output = self.average(oa, ob, wa, wb, ea, eb)
            output = np.where((ea & ~eb)[..., None], ob, output)
            output = np.where((eb & ~ea)[..., None], oa, output)
            log = np.where(ea & eb, -np.inf, most + np.log(wa + wb))
            return {"output": output.astype(dtype), "logsumexp": log.astype(wide(dtype))}


def merge_function(step=Merge):
    one = step()

    def merge_states(output_a, logsumexp_a, output_b, logsumexp_b):
        return one(output_a, logsumexp_a, output_b, logsumexp_b)

    return merge_states


# ----------------------------------------------------------------------------------------------------- multi-head


class MultiHead:
    attention = Attention

    def check(self, m):
        refuse(m.query.ndim != 3 or m.key.ndim != 3 or m.value.ndim != 3, "rank")
        refuse(m.query.shape[2] % m.num_heads != 0, "divisible")

    def project(self, x, weight, bias):
        x = x.astype(F64) @ weight.astype(F64)
        return x if bias is None else x + bias.astype(F64)

    def projections(self, m):
        return (self.project(m.query, m.w_query, m.b_query), self.project(m.key, m.w_key, m.b_key),
                self.project(m.value, m.w_value, m.b_value))

    def split(self, x, heads):
        return x.reshape(x.shape[0], x.shape[1], heads, x.shape[2] // heads).swapaxes(1, 2)

    def combine(self, x):
        return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)

    def mask(self, m):
        return m.mask

    def attend(self, m, q, k, v):
        got = self.attention()(
            query=q, key=k, value=v, mask=self.mask(m), is_causal=m.is_causal, scale=m.scale,
            causal_alignment="top_left",
            **none_of("past_key past_value key_lengths query_lengths sinks alibi_slopes query_scale key_scale"
                      " value_scale softcap window output_dtype"))
        return got["output"], got["weights"]

    def out(self, m, heads):
        return self.project(self.combine(heads), m.w_output, m.b_output)

    def __call__(self, **given):
        with np.errstate(all="ignore"):
            m = type("Context", (), {})()
            for name, item in given.items():
                setattr(m, name, item)
            m.raw = (m.query, m.key, m.value)
            for name in ("query", "key", "value", "mask"):
                if getattr(m, name) is not None:
                    setattr(m, name, np.asarray(getattr(m, name)))
            self.check(m)
            q, k, v = (self.split(x, m.num_heads) for x in self.projections(m))
            heads, weights = self.attend(m, q, k, v)
            return {"output": self.out(m, heads).astype(m.query.dtype), "weights": weights.astype(wide(m.query.dtype))}


def multi_head_function(step=MultiHead):
    one = step()

    def multi_head_attention(
        query, key, value, w_query, w_key, w_value, w_output, b_query=None, b_key=None, b_value=None, b_output=None,
        mask=None, *, num_heads, is_causal=False, scale=None,
    ):
        return one(**locals_of(locals()))

    return multi_head_attention


# -------------------------------------------------------------------------------------------------------- softmax


class Softmax:
    def largest(self, x, axis):
        return x.max(axis=axis, keepdims=True)

    def __call__(self, x, axis=-1):
        x = np.asarray(x)
        if x.size == 0:
            return x.copy()
        with np.errstate(all="ignore"):
            values = x.astype(F64)
            e = np.exp(values - self.largest(values, axis))
            return {"output": (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)}


def softmax_function(step=Softmax):
    one = step()

    def softmax(x, axis=-1):
        return one(x, axis)

    return softmax


# --------------------------------------------------------------------------------------------------------- rotary


class Frequencies:
    def need(self, r, *names):
        for name in names:
            refuse(getattr(r, name) is None, f"{name} is needed")

    def check(self, r):
        refuse(r.width < 2 or r.width % 2 != 0, "width")
        refuse(r.scaling not in ("none", "linear", "dynamic", "llama3", "longrope", "proportional", "yarn"), "scaling")
        refuse(not r.theta > 0, "theta")
        if r.scaling not in ("none", "proportional"):
            self.need(r, "factor")
        if r.scaling in ("dynamic", "llama3", "longrope", "yarn"):
            self.need(r, "original_length")
        if r.scaling != "none" and r.factor is not None:
            refuse(not r.factor > 0, "factor")
        if r.scaling == "llama3":
            self.need(r, "low_frequency_factor", "high_frequency_factor")
            refuse(not r.high_frequency_factor > r.low_frequency_factor, "range")
        if r.scaling == "longrope":
            self.need(r, "short_factors", "long_factors")
            for factors in (r.short_factors, r.long_factors):
                refuse(len(factors) != r.width // 2, "factor lists")
        if r.scaling == "dynamic":
            refuse(r.width < 4, "width under dynamic")
        if r.scaling == "yarn":
            refuse(not r.theta > 1, "theta under yarn")
        if r.scaling == "proportional":
            refuse(not 0 <= r.proportion <= 1, "proportion")

    def base(self, r):
        if r.scaling != "dynamic":
            return float(r.theta)
        n = r.original_length if r.sequence_length is None else r.sequence_length
        n = max(n, r.original_length)
        return r.theta * (r.factor * n / r.original_length - r.factor + 1) ** (r.width / (r.width - 2))

    def powers(self, r):
        return self.base(r) ** (-2.0 * np.arange(r.width // 2) / r.width)

    def yarn_range(self, r):
        def d(turns):
            return r.width * math.log(r.original_length / (2 * math.pi * turns)) / (2 * math.log(r.theta))

        low, high = d(r.beta_fast), d(r.beta_slow)
        if r.truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, r.width - 1)
        return (low, high + 0.001) if low == high else (low, high)

    def longrope_is_long(self, r):
        return r.sequence_length is not None and r.sequence_length > r.original_length

    def scale(self, r, f):
        if r.scaling == "linear":
            return f / r.factor
        if r.scaling == "llama3":
            turns = r.original_length * f / (2 * math.pi)
            g = (turns - r.low_frequency_factor) / (r.high_frequency_factor - r.low_frequency_factor)
            g = np.clip(g, 0, 1)
            return g * f + (1 - g) * f / r.factor
        if r.scaling == "longrope":
            return f / np.asarray(r.long_factors if self.longrope_is_long(r) else r.short_factors, dtype=F64)
        if r.scaling == "proportional":
            turning = math.floor(r.proportion * r.width / 2)
            f = f / (1.0 if r.factor is None else r.factor)
            return np.where(np.arange(r.width // 2) < turning, f, 0.0)
        if r.scaling == "yarn":
            low, high = self.yarn_range(r)
            ramp = np.clip((np.arange(r.width // 2) - low) / (high - low), 0, 1)
            return ramp * f / r.factor + (1 - ramp) * f
        return f

    def longrope_attention(self, r):
        return math.sqrt(1 + math.log(r.factor) / math.log(r.original_length))

    def attention(self, r):
        if r.scaling not in ("longrope", "yarn"):
            return 1.0
        if r.attention_factor is not None:
            return float(r.attention_factor)
        if r.scaling == "longrope":
            return self.longrope_attention(r)

        def m(a):
            return 0.1 * a * math.log(r.factor) + 1

        if r.magnitude_scaling and r.magnitude_scaling_all_dimensions:
            return m(r.magnitude_scaling) / m(r.magnitude_scaling_all_dimensions)
        return m(1)

    def __call__(self, **given):
        r = type("Context", (), {})()
        for name, item in given.items():
            setattr(r, name, item)
        if r.scaling is None:
            r.scaling = "none"
        self.check(r)
        return {"inverse_frequencies": self.scale(r, self.powers(r)), "attention_factor": np.array(self.attention(r))}


def frequencies_function(step=Frequencies):
    one = step()

    def rotary_frequencies(
        width, theta=10000, scaling="none", factor=None, original_length=None, sequence_length=None,
        low_frequency_factor=None, high_frequency_factor=None, short_factors=None, long_factors=None, proportion=1,
        beta_fast=32, beta_slow=1, truncate=True, magnitude_scaling=None, magnitude_scaling_all_dimensions=None,
        attention_factor=None,
    ):
        return one(**locals_of(locals()))

    return rotary_frequencies


class Tables:
    def phases(self, positions, frequencies):
        return positions.astype(F64)[..., None] * frequencies.astype(F64)

    def __call__(self, position_ids, inverse_frequencies, attention_factor=1):
        positions, frequencies = np.asarray(position_ids), np.asarray(inverse_frequencies)
        refuse(positions.ndim != 2 or frequencies.ndim != 1, "rank")
        phases = self.phases(positions, frequencies)
        return {"cos": (attention_factor * np.cos(phases)).astype(frequencies.dtype),
                "sin": (attention_factor * np.sin(phases)).astype(frequencies.dtype)}


def tables_function(step=Tables):
    one = step()

    def rotary_tables(position_ids, inverse_frequencies, attention_factor=1):
        return one(position_ids, inverse_frequencies, attention_factor)

    return rotary_tables


class Rotary:
    def check(self, x, cos, sin, pairing):
        refuse(x.ndim != 4 or cos.ndim != 3 or sin.ndim != 3, "rank")
        refuse(cos.shape != sin.shape, "tables")
        refuse(cos.shape[0] != x.shape[0] or cos.shape[1] != x.shape[2], "tokens")
        refuse(2 * cos.shape[2] > x.shape[3], "width")
        refuse(pairing not in ("half", "interleaved"), "pairing")

    def places(self, pairs, pairing):
        i = np.arange(pairs)
        return (i, i + pairs) if pairing == "half" else (2 * i, 2 * i + 1)

    def table(self, x, table):
        return table.astype(F64)[:, None]

    def turn(self, first, second, cos, sin):
        return cos * first - sin * second, sin * first + cos * second

    def __call__(self, x, cos, sin, pairing="half"):
        x, cos, sin = np.asarray(x), np.asarray(cos), np.asarray(sin)
        self.check(x, cos, sin, pairing)
        with np.errstate(all="ignore"):
            a, b = self.places(cos.shape[2], pairing)
            output = np.array(x, order="C")
            first, second = x[..., a].astype(F64), x[..., b].astype(F64)
            first, second = self.turn(first, second, self.table(x, cos), self.table(x, sin))
            output[..., a] = first.astype(x.dtype)
            output[..., b] = second.astype(x.dtype)
            return {"output": output}


def rotary_function(step=Rotary):
    one = step()

    def apply_rotary(x, cos, sin, pairing="half"):
        return one(x, cos, sin, pairing)

    return apply_rotary

"""Scaled dot-product attention after the pages, step by step; each step can be replaced by those who import it."""

from types import SimpleNamespace

import ml_dtypes
import numpy as np

QUANTIZED = tuple(np.dtype(x) for x in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.int8))


def refuse(condition, text):
    if condition:
        raise ValueError(text)


def dtype_named(name):
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, str(name)) else np.dtype(name)


class Steps:
    # ---- checking ------------------------------------------------------------------------------------------------

    def check_lengths(self, key, value, past_key, past_value):
        refuse(key.shape[2] != value.shape[2], "keys and values differ in number")
        if past_key is not None:
            refuse(past_key.shape[2] != past_value.shape[2], "past keys and values differ in number")

    def check_mask(self, mask, target):
        refuse(mask.ndim < 2 or mask.ndim > 4, "the mask has rank 2 to 4")
        refuse(mask.shape[-1] != target[-1], "the mask has another number of keys")
        for have, want in zip(mask.shape[::-1], target[::-1]):
            refuse(have not in (1, want), "the mask does not broadcast")

    def four_axes(self, a, mask):
        return mask.reshape((1,) * (4 - mask.ndim) + mask.shape)

    def prepare(self, query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
                query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype):
        a = SimpleNamespace()
        query, key, value = np.asarray(query), np.asarray(key), np.asarray(value)
        for x in (query, key, value):
            refuse(x.ndim != 4, "query, key and value have rank 4")
        B, Hq, Sq, E = query.shape
        Hkv, Sk = key.shape[1:3]
        refuse(E == 0, "queries without features")
        refuse(key.shape[3] != E, "query and key differ in width")
        refuse(key.shape[0] != B or value.shape[0] != B, "batch sizes differ")
        refuse(value.shape[1] != Hkv, "key and value differ in heads")
        refuse(Hq % Hkv != 0 if Hkv else Hq != 0, "query heads are no multiple of key heads")
        refuse((past_key is None) != (past_value is None), "past keys and values come together")
        P = 0
        if past_key is not None:
            past_key, past_value = np.asarray(past_key), np.asarray(past_value)
            refuse(past_key.ndim != 4 or past_value.ndim != 4, "the past has rank 4")
            refuse(past_key.shape[3] != E or past_value.shape[3] != value.shape[3], "the past differs in width")
            refuse(past_key.shape[0] != B or past_value.shape[0] != B, "the past has another batch size")
            refuse(past_key.shape[1] != Hkv or past_value.shape[1] != Hkv, "the past has other heads")
            refuse(key_lengths is not None or query_lengths is not None, "past and lengths never come together")
            P = past_key.shape[2]
        self.check_lengths(key, value, past_key, past_value)
        T = P + Sk if past_key is None else past_key.shape[2] + key.shape[2]
        for name, lengths, most in (("key", key_lengths, Sk), ("query", query_lengths, Sq)):
            if lengths is not None:
                lengths = np.asarray(lengths)
                refuse(lengths.shape != (B,), f"{name} lengths for another number of entries")
                refuse(bool((lengths < 0).any()) or bool((lengths > most).any()), f"a {name} length out of range")
        if mask is not None:
            mask = np.asarray(mask)
            self.check_mask(mask, (B, Hq, Sq, T))
            refuse(mask.dtype != bool and (mask.dtype.kind in "iu"), "a mask of integers")
        for name, x in (("sinks", sinks), ("alibi_slopes", alibi_slopes)):
            refuse(x is not None and np.asarray(x).shape != (Hq,), f"{name} has one number for each head")
        for x in (query_scale, key_scale, value_scale):
            if x is not None:
                shape = np.asarray(x).shape
                refuse(len(shape) > 2, "a scale has at most two axes")
                for have, want in zip(shape[::-1], (Hkv, B)):
                    refuse(have not in (1, want), "a scale has other axes")
        refuse(softcap is not None and softcap < 0, "a negative softcap")
        refuse(causal_alignment not in ("top_left", "bottom_right"), "an unknown alignment")

        quantized = query.dtype in QUANTIZED
        a.out = (dtype_named(output_dtype) if output_dtype is not None else np.dtype(np.float32)) if quantized else query.dtype
        a.work = np.dtype(np.float64) if a.out == np.float64 else np.dtype(np.float32)
        a.B, a.Hq, a.Hkv, a.Sq, a.E, a.Ev, a.P, a.T, a.Sk = B, Hq, Hkv, Sq, E, value.shape[3], P, T, Sk
        a.G = Hq // Hkv if Hkv else 1
        a.raw = (query, key, value)
        a.scaled = any(x is not None for x in (query_scale, key_scale, value_scale))
        a.present_key = key.copy() if past_key is None else np.concatenate((past_key, key), axis=2)
        a.present_value = value.copy() if past_value is None else np.concatenate((past_value, value), axis=2)
        a.q = self.widen(a, query, query_scale, a.G)
        a.k = self.widen(a, a.present_key, key_scale, 1)
        a.v = self.widen(a, a.present_value, value_scale, 1)
        a.mask = None if mask is None else self.four_axes(a, mask)
        a.given_mask = mask
        a.float_mask = mask is not None and mask.dtype != bool
        a.sinks = None if sinks is None else np.asarray(sinks).astype(a.work).reshape(1, Hq, 1)
        a.slopes = None if alibi_slopes is None else np.asarray(alibi_slopes).astype(a.work)
        a.causal, a.alignment = bool(is_causal), causal_alignment
        a.scale = self.default_scale(a) if scale is None else float(scale)
        a.softcap = None if softcap is None or softcap == 0 else float(softcap)
        a.left, a.right = (None, None) if window is None else tuple(window)
        a.key_lengths, a.query_lengths = key_lengths, query_lengths
        a.L = np.full(B, T) if key_lengths is None else np.asarray(key_lengths).astype(np.int64)
        a.N = np.full(B, Sq) if query_lengths is None else np.asarray(query_lengths).astype(np.int64)
        a.pos = self.positions(a)
        return a

    def widen(self, a, x, scale, group):
        x = x.astype(a.work)
        if scale is None:
            return x
        scale = np.asarray(scale).astype(a.work)
        scale = np.broadcast_to(scale, (a.B, a.Hkv)).repeat(group, axis=1)
        return x * scale[:, :, None, None]

    def default_scale(self, a):
        return 1 / np.sqrt(a.E)

    # ---- positions -----------------------------------------------------------------------------------------------

    def offsets(self, a):
        return np.full(a.B, a.P) if a.alignment == "top_left" else a.L - a.N

    def positions(self, a):
        """(B, 1, Sq), or (B, Hq, Sq)"""
        return (self.offsets(a)[:, None] + np.arange(a.Sq))[:, None, :]

    # ---- the steps -----------------------------------------------------------------------------------------------

    def share(self, a, x):
        return x[:, np.arange(a.Hq) // a.G] if a.Hkv else x

    def scores(self, a):
        return (a.q @ self.share(a, a.k).swapaxes(-1, -2)) * a.work.type(a.scale)

    def cap(self, a, scores):
        c = a.work.type(a.softcap)
        return np.tanh(scores / c) * c

    def distance(self, a):
        return np.abs(a.pos[..., None] - np.arange(a.T)).astype(a.work)

    def bias(self, a, logits):
        return logits - a.slopes[:, None, None] * self.distance(a)

    def add_mask(self, a, logits):
        return logits + a.mask.astype(a.work)

    def positional(self, a):
        j, p = np.arange(a.T), a.pos[..., None]
        far = 1 << 40
        allowed = np.ones(p.shape[:-1] + (a.T,), bool)
        if a.causal:
            allowed &= j <= p
        if a.left is not None:
            allowed &= j >= p - min(int(a.left), far)
        if a.right is not None:
            allowed &= j <= p + min(int(a.right), far)
        return allowed

    def lengths(self, a):
        return np.arange(a.T) < a.L[:, None, None, None]

    def attend_mask(self, a):
        return a.mask != -np.inf if a.float_mask else a.mask

    def allowed(self, a):
        allowed = self.positional(a) & self.lengths(a)
        if a.mask is not None:
            allowed = allowed & self.attend_mask(a)
        return allowed

    def exclude(self, a, logits, allowed):
        return np.where(allowed, logits, a.work.type(-np.inf))

    def maximum(self, a, logits, allowed):
        top = logits.max(axis=-1, initial=-np.inf)
        return top if a.sinks is None else np.maximum(top, a.sinks)

    def softmax(self, a, logits, allowed):
        top = self.maximum(a, logits, allowed)
        safe = np.where(top == -np.inf, 0, top).astype(a.work)
        powers = np.exp(logits - safe[..., None])
        total = powers.sum(axis=-1)
        if a.sinks is not None:
            total = total + np.exp(a.sinks - safe)
        weights = np.where(allowed, powers / total[..., None], 0).astype(a.work)
        return weights, safe + np.log(total)

    def weigh(self, a, weights, allowed):
        return weigh(weights, allowed, self.share(a, a.v))

    def run(self, a):
        scores = self.scores(a)
        logits = scores
        if a.softcap is not None:
            logits = self.cap(a, logits)
        if a.slopes is not None:
            logits = self.bias(a, logits)
        if a.float_mask:
            logits = self.add_mask(a, logits)
        allowed = self.allowed(a)
        logits = self.exclude(a, logits, allowed)
        allowed = np.broadcast_to(allowed, logits.shape)
        return self.rest(a, scores, logits, allowed)

    def rest(self, a, scores, logits, allowed):
        weights, logsumexp = self.softmax(a, logits, allowed)
        output = self.weigh(a, weights, allowed)
        return {"output": output, "weights": weights, "logsumexp": logsumexp, "scores": scores, "logits": logits}

    def finish(self, a, results):
        results["output"] = results["output"].astype(a.out)
        if not a.scaled:
            results["present_key"], results["present_value"] = a.present_key, a.present_value
        return {name: np.ascontiguousarray(x) for name, x in results.items()}


class Partial(Steps):
    """Those who weigh keys in parts, from logits and permissions, and give output and logsumexp alone."""

    def rest(self, a, scores, logits, allowed):
        output, logsumexp = self.parts(a, logits, allowed, self.share(a, a.v))
        return {"output": output, "logsumexp": logsumexp}

    def close(self, a, top, total, acc, allowed):
        """From running maximum, sum and accumulated values to the results."""
        dead = ~allowed.any(axis=-1)
        output = np.where(dead[..., None], 0, acc / total[..., None])
        safe = np.where(top == -np.inf, 0, top)
        return output, safe + np.log(total)


def weigh(weights, allowed, values):
    """Sums of values by weight, in which what is excluded counts for nothing, be it NaN."""
    bad = ~np.isfinite(values).all(axis=(0, 1, 3))
    if not bad.any():
        return weights @ values
    good = ~bad
    output = weights[..., good] @ values[..., good, :]
    for j in np.flatnonzero(bad):
        output = output + np.where(allowed[..., j, None], weights[..., j, None] * values[..., j, None, :], 0)
    return output


def attend(steps, *args):
    with np.errstate(all="ignore"):
        a = steps.prepare(*args)
        return steps.finish(a, steps.run(a))


def scaled_dot_product_attention(
    query, key, value, mask=None, past_key=None, past_value=None, key_lengths=None, query_lengths=None, sinks=None,
    alibi_slopes=None, query_scale=None, key_scale=None, value_scale=None, is_causal=False, causal_alignment="top_left",
    scale=None, softcap=None, window=None, output_dtype=None,
):
    return attend(
        Steps(), query, key, value, mask, past_key, past_value, key_lengths, query_lengths, sinks, alibi_slopes,
        query_scale, key_scale, value_scale, is_causal, causal_alignment, scale, softcap, window, output_dtype,
    )

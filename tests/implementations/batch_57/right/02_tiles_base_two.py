"""Tiles of five keys with a running maximum and powers of two, float32 throughout but for float64, delta from the output."""

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
TILE = 5
LOG2E = 1.4426950408889634


class Tiled(base.Backward):
    def widen(self):
        super().widen()
        self.work = base.wider(self.dtype)
        for name in ("q", "k", "v", "go", "gl"):
            setattr(self, name, getattr(self, name).astype(self.work))
        self.scale = self.work.type(self.scale)
        if self.softcap:
            self.softcap = self.work.type(self.softcap)

    def tiles(self):
        return [slice(start, start + TILE) for start in range(0, self.Sk, TILE)]

    def score(self):
        super().score()
        self.scores = self.scores.astype(self.work)
        self.logits = self.logits.astype(self.work)
        self.slope_of_cap = self.slope_of_cap.astype(self.work)

    def weigh(self):
        shape, work = (self.B, self.Hq, self.Sq, 1), self.work
        top, total, sink = np.full(shape, -np.inf, dtype=work), np.zeros(shape, dtype=work), None
        if self.sinks is not None:
            sink = np.broadcast_to(base.wide(self.sinks).astype(work)[None, :, None, None], shape)
            top, total = sink.copy(), np.where(np.isneginf(sink), work.type(0), np.ones(shape, dtype=work))
        for tile in self.tiles():
            logits, allowed = self.logits[..., tile], self.allowed[..., tile]
            higher = np.maximum(top, logits.max(axis=-1, keepdims=True))
            safe = np.where(np.isneginf(higher), work.type(0), higher)
            powers = np.where(allowed, np.exp2((logits - safe) * work.type(LOG2E)), work.type(0))
            total = total * np.exp2((top - safe) * work.type(LOG2E)) + powers.sum(axis=-1, keepdims=True)
            top = higher
        top = np.where(np.isneginf(top), work.type(0), top)
        divisor = np.where(total == 0, work.type(1), total)
        powers = np.exp2((self.logits - top) * work.type(LOG2E)) / divisor
        self.weights = np.where(self.allowed, powers, work.type(0))
        self.share_of_sink = None
        if sink is not None:
            self.share_of_sink = (np.exp2((sink - top) * work.type(LOG2E)) / divisor)[..., 0]

    def gradient_of_logits(self):
        super().gradient_of_logits()
        stored = None if self.output is None else np.asarray(self.output)
        if stored is not None and stored.shape == self.go.shape:
            stored = np.where(self.counts[:, None, :, None], base.wide(stored), 0.0).astype(self.work)
            delta = (self.go * stored).sum(axis=-1)
            self.delta = np.where(self.allowed.any(axis=-1), delta, self.work.type(0))
            grad_weights = np.where(self.allowed, self.go @ self.v.swapaxes(-1, -2), self.work.type(0))
            inner = (grad_weights - self.delta[..., None]) + self.gl[..., None]
            self.grad_logits = np.where(self.allowed, self.weights * inner, self.work.type(0))
            self.grad_scores = np.where(self.allowed, self.grad_logits * self.slope_of_cap, self.work.type(0))

    def gradient_of_query(self):
        parts = np.zeros_like(self.q)
        for tile in self.tiles():
            parts = parts + base.gated(self.grad_scores[..., tile], self.allowed[..., tile], self.k[:, :, tile])
        return parts * self.scale

    def by_key(self, numbers, rows):
        turned, allowed = numbers.swapaxes(-1, -2), self.allowed.swapaxes(-1, -2)
        parts = np.zeros((self.B, self.Hq, self.Sk, rows.shape[-1]), dtype=self.work)
        for start in reversed(range(0, self.Sq, 3)):
            part = slice(start, start + 3)
            parts = parts + base.gated(turned[..., part], allowed[..., part], rows[:, :, part])
        return self.over_group(parts)

    def gradient_of_key(self):
        return self.by_key(self.grad_scores, self.q * self.scale)

    def gradient_of_value(self):
        return self.by_key(self.weights, self.go)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Tiled(locals()).run()

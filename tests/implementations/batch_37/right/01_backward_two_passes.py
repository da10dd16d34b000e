"""Backward in tiles, as a fused kernel does it: what is stored is used, exponentials to the base 2, float32 throughout
but for float64; keys and values are gathered, one pass for keys, one for queries."""
import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
TILE = 16
LOG2E = 1.4426950408889634


class Tiled(base.Backward):
    def widen(self):
        super().widen()
        self.work = base.work(self.dtype)
        for name in ("q", "k", "v", "do", "dlse", "sink", "full_mask"):
            given = getattr(self, name)
            if given is not None and given.dtype != bool:
                setattr(self, name, given.astype(self.work))

    def find_weights(self):
        """Online softmax over tiles of keys, then weights from the logsumexp, or from the one that is stored."""
        f = self.work.type
        rows = (self.B, self.Hq, self.Sq)
        self.some = self.allowed.any(axis=-1)
        top, total = np.full(rows, f(-np.inf)), np.zeros(rows, self.work)
        if self.sink is not None:
            top = np.broadcast_to(self.sink[:, None], rows).astype(self.work)
            total = np.where(np.isneginf(top), f(0), f(1))
        for start in range(0, self.Sk, TILE):
            tile = self.logits[..., start:start + TILE]
            new = np.maximum(top, tile.max(axis=-1))
            safe = np.where(np.isneginf(new), f(0), new)
            power = np.exp2((tile - safe[..., None]) * f(LOG2E))
            total = total * np.exp2((top - safe) * f(LOG2E)) + power.sum(axis=-1)
            top = new
        self.lse = np.where(total == 0, f(-np.inf), top + np.log(np.where(total == 0, f(1), total)))
        # the distance to the top and the logarithm of the total apart: large logarithms keep their digits
        low = np.where(np.isneginf(top), f(0), top)[..., None]
        shift = np.log2(np.where(total == 0, f(1), total))[..., None]
        distance = self.logits - low
        self.weights = np.where(self.allowed, np.exp2(distance * f(LOG2E) - shift), f(0))
        self.sink_share = None
        if self.sink is not None:
            self.sink_share = np.exp2((self.sink[:, None] - low[..., 0]) * f(LOG2E) - shift[..., 0])

    def find_delta(self):
        if self.output is None or np.shape(self.output) != self.grad_output.shape:
            return super().find_delta()
        stored = np.asarray(self.output).astype(self.work)
        self.delta = np.where(self.some, (self.do * stored).sum(axis=-1), self.work.type(0))

    def find_grad_value(self):
        tiles = [self.over_queries(self.weights, self.do, s) for s in range(0, self.Sk, TILE)]
        self.dv = np.concatenate(tiles, axis=2) if tiles else np.zeros_like(self.v)

    def over_queries(self, coefficients, rows, start):
        result = 0
        for first in reversed(range(0, max(self.Sq, 1), TILE)):
            cut = (..., slice(first, first + TILE), slice(start, start + TILE))
            c, a = coefficients[cut].swapaxes(-1, -2), self.allowed[cut].swapaxes(-1, -2)
            result = result + base.product(c, a, rows[:, :, first:first + TILE])
        return result

    def find_grad_query(self):
        self.dq = np.zeros_like(self.q)
        for start in reversed(range(0, self.Sk, TILE)):
            cut = (..., slice(start, start + TILE))
            scaled = self.k[:, :, start:start + TILE] * self.work.type(self.factor)
            self.dq = self.dq + base.product(self.dscores[cut], self.allowed[cut], scaled)

    def find_grad_key(self):
        tiles = [self.over_queries(self.dscores, self.q, s) for s in range(0, self.Sk, TILE)]
        self.dk = (np.concatenate(tiles, axis=2) if tiles else np.zeros_like(self.k)) * self.work.type(self.factor)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Tiled(locals()).run()

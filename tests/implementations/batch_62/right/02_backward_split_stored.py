import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
LOG2E = 1.4426950408889634


def tree(parts):
    while len(parts) > 1:
        parts = [sum(parts[n:n + 2][1:], parts[n]) for n in range(0, len(parts), 2)]
    return parts[0]


class Split(base.Backward):
    """Powers of two, keys in tiles of 5 with an online sum, stored tensors where there are any, sums in trees."""

    def weigh(self):
        rows = self.allowed.any(axis=-1)
        lse = self.given_logsumexp
        top = np.full(rows.shape, -np.inf)
        total = np.zeros(rows.shape)
        tiles = [slice(n, n + 5) for n in range(0, self.Sk, 5)]
        pieces = [self.logits[..., t] for t in reversed(tiles)]
        if self.sinks is not None:
            pieces.append(np.broadcast_to(self.sinks[None, :, None, None], rows.shape + (1,)))
        for piece in pieces:
            new = np.maximum(top, piece.max(axis=-1))
            safe = np.where(np.isneginf(new), 0, new)
            power = np.where(np.isneginf(piece), 0, np.exp2((piece - safe[..., None]) * LOG2E))
            total = total * np.where(np.isneginf(top), 0, np.exp2((top - safe) * LOG2E)) + power.sum(axis=-1)
            top = new
        found = np.where(np.isneginf(top), 0, top) + np.log(np.where(total == 0, 1, total))
        shift, divisor = np.where(np.isneginf(top), 0, top), np.where(total == 0, 1, total)
        if lse is not None and lse.shape == rows.shape:
            stored = base.wide(lse)
            take = np.isfinite(stored) & rows
            shift, divisor = np.where(take, stored, shift), np.where(take, 1, divisor)
        self.weights = np.where(self.allowed, np.exp2((self.logits - shift[..., None]) * LOG2E) / divisor[..., None], 0)
        if self.sinks is not None:
            share = np.exp2((self.sinks[None, :, None] - shift) * LOG2E) / divisor
            self.sink_share = np.where(rows, share, 1)

    def find_delta(self):
        out = self.given_output
        if out is None or out.shape != self.do.shape:
            return super().find_delta()
        return np.where(self.allowed.any(axis=-1), (base.wide(out) * self.do).sum(axis=-1), 0)

    def over_queries(self, name, w, x):
        if self.Sq == 0:
            return super().over_queries(name, w, x)
        return tree([base.contract(base.flipped(w[:, :, n:n + 3]), x[:, :, n:n + 3],
                                   base.flipped(self.allowed[:, :, n:n + 3])) for n in range(0, self.Sq, 3)])


def scaled_dot_product_attention_backward(
        grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
        query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
        softcap=None, window=None):
    return Split().run(**locals())

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")
ROWS, COLUMNS = 5, 3
LOG2E = 1.4426950408889634


class Mine(base.Backward):
    """A sweep of online softmax over tiles of keys finds logsumexp and delta; a second one, keys outermost and split in
    two halves, finds the gradients. A stored logsumexp and output are used where these are no
    half precision."""

    def normalise(self, c):
        c.share = None

    def tiles(self, c):
        for start in range(0, c.Sk, COLUMNS):
            yield slice(start, start + COLUMNS)

    def summarise(self, c):
        shape = (c.B, c.H, c.Sq)
        largest = np.full(shape, -np.inf) if c.sink is None else np.broadcast_to(c.sink, shape).copy()
        total = np.zeros(shape) if c.sink is None else np.ones(shape)
        mean = np.zeros(shape)
        for tile in self.tiles(c):
            allowed, logits = c.allowed[..., tile], c.logits[..., tile]
            higher = np.maximum(largest, logits.max(axis=-1))
            shift = np.where(np.isneginf(higher), 0.0, higher)
            rescale = np.where(np.isneginf(largest), 0.0, np.exp2((largest - shift) * LOG2E))
            powers = np.where(allowed, np.exp2((logits - shift[..., None]) * LOG2E), 0.0)
            got = np.where(allowed, c.g @ base.flip(c.v[:, :, tile]), 0.0)
            mean = mean * rescale + np.where(allowed, powers * got, 0.0).sum(axis=-1)
            total = total * rescale + powers.sum(axis=-1)
            largest = higher
        alive = c.allowed.any(axis=-1)
        c.lse = np.where(np.isneginf(largest), -np.inf, np.log(total) + largest)
        c.delta = np.where(alive, mean / np.where(total == 0, 1.0, total), 0.0)

    def differentiate(self, c):
        self.summarise(c)
        if not base.is_half(c.dtype):
            shape = (c.B, c.H, c.Sq)
            alive = c.allowed.any(axis=-1)
            if c.logsumexp is not None and c.logsumexp.shape == shape:
                c.lse = np.where(c.counts, base.wide(c.logsumexp), c.lse)
            if c.output is not None and c.output.shape == shape + (c.V,):
                c.delta = np.where(alive, (c.g * base.wide(c.output)).sum(axis=-1), 0.0)
        if c.sink is not None:
            c.share = np.exp(c.sink - c.lse)
        c.grad_logits, c.grad_scores = np.zeros(c.logits.shape), np.zeros(c.logits.shape)
        slope = np.broadcast_to(c.slope, c.logits.shape)
        parts = [np.zeros(c.query.shape), np.zeros(c.query.shape)]
        grad_key, grad_value = np.zeros(c.k.shape), np.zeros(c.v.shape)
        for number, tile in enumerate(self.tiles(c)):
            for start in reversed(range(0, c.Sq, ROWS)):
                rows = slice(start, start + ROWS)
                allowed = c.allowed[:, :, rows, tile]
                w = np.where(allowed, np.exp(c.logits[:, :, rows, tile] - c.lse[:, :, rows, None]), 0.0)
                got = np.where(allowed, c.g[:, :, rows] @ base.flip(c.v[:, :, tile]), 0.0)
                inner = got - (c.delta - c.gl)[:, :, rows, None]
                moved = np.where(allowed, w * inner, 0.0)
                c.grad_logits[:, :, rows, tile] = moved
                moved = np.where(allowed, moved * slope[:, :, rows, tile], 0.0)
                c.grad_scores[:, :, rows, tile] = moved
                parts[number % 2][:, :, rows] += base.apart(moved, c.k[:, :, tile], allowed)
                grad_key[:, :, tile] += base.apart(base.flip(moved), c.q[:, :, rows], base.flip(allowed))
                grad_value[:, :, tile] += base.apart(base.flip(w), c.g[:, :, rows], base.flip(allowed))
        c.grad_query = c.factor * (parts[0] + parts[1])
        c.grad_key, c.grad_value = c.factor * self.fold(c, grad_key), self.fold(c, grad_value)


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Mine()(**locals())

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "float16", "bfloat16")


class Positions:
    """Which pairs causality, window and lengths leave, found once for every kind of call."""

    def __init__(self):
        self.known = {}

    def get(self, given, shape):
        window = given["window"]
        lengths = tuple(None if x is None else tuple(int(n) for n in x)
                        for x in (given["key_lengths"], given["query_lengths"]))
        key = (shape, bool(given["is_causal"]), None if window is None else tuple(window), lengths)
        if key not in self.known:
            bare = dict(given, mask=None)
            self.known[key] = base.plan(**bare).allowed
            if len(self.known) > 64:
                self.known.pop(next(iter(self.known)))
        return self.known[key]


positions = Positions()


def with_mask(p, seen):
    if p.mask is None:
        return seen
    m = base.wide(p.mask) if p.float_mask else p.mask
    return seen & (~np.isneginf(m) if p.float_mask else np.asarray(m))


def scaled_dot_product_attention_backward(grad_output, query, key, value, output=None, logsumexp=None,
                                          grad_logsumexp=None, mask=None, key_lengths=None, query_lengths=None,
                                          sinks=None, alibi_slopes=None, is_causal=False,
                                          causal_alignment="top_left", scale=None, softcap=None, window=None):
    given = dict(locals())
    p = base.plan(**given)
    p.allowed = with_mask(p, positions.get(given, (p.B, p.Hq, p.Sq, p.Sk)))
    with base.quiet:
        p.bias = np.zeros(p.allowed.shape)
        if alibi_slopes is not None:
            gap = p.pos[:, None, :, None] - np.arange(p.Sk)
            p.bias = p.bias - base.wide(alibi_slopes)[:, None, None] * np.abs(gap)
        if p.float_mask:
            p.bias = p.bias + base.wide(mask)
        p.bias = np.where(p.allowed, p.bias, 0.0)
    return base.Backward(p).run()

import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base

import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")


class Parts(base.Attention):
    """Every row in parts of seven keys, with powers of two, merged by a tree of pairs. The sink is a part of its own."""

    size = 7

    def attend(self):
        rows = (self.B, self.Hq, self.Sq, 1)
        turn = self.work.type(1.4426950408889634)
        zero = np.zeros((*rows[:3], self.Ev), self.work)
        sink = np.broadcast_to(self.sink() * turn, rows)
        tree = [(sink, np.where(np.isneginf(sink), self.work.type(0), self.work.type(1)), zero)]
        for at in range(0, self.K, self.size):
            span = slice(at, at + self.size)
            logits = self.logits[..., span] * turn
            top = logits.max(axis=-1, keepdims=True)
            powers = np.exp2(np.where(self.allowed[..., span] & ~np.isneginf(logits), logits - top, self.work.type(-np.inf)))
            tree.append((top, powers.sum(axis=-1, keepdims=True), self.weigh(powers, self.v[:, :, span], self.allowed[..., span])))
        while len(tree) > 1:
            tree = [self.pair(*tree[at : at + 2]) for at in range(0, len(tree), 2)]
        top, total, values = tree[0]
        empty = total == 0
        self.output = np.where(empty, self.work.type(0), values / np.where(empty, self.work.type(1), total))
        self.logsumexp = ((np.log2(total) + np.where(empty, self.work.type(0), top)) * self.work.type(0.6931471805599453))[..., 0]
        self.weights = np.where(
            self.allowed & ~np.isneginf(self.logits), np.exp2(self.logits * turn - top) / np.where(empty, 1, total), 0
        )

    def pair(self, one, other=None):
        if other is None:
            return one
        top = np.maximum(one[0], other[0])
        total = values = self.work.type(0)
        for own, powers, sums in (one, other):
            share = np.where(np.isneginf(own), self.work.type(0), np.exp2(own - top))
            total = total + share * powers
            values = values + np.where(np.isneginf(own), self.work.type(0), share * sums)
        return top, total, values


scaled_dot_product_attention = base.bhse(Parts)

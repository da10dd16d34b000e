import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import base
import numpy as np

dtypes = ("float64", "float32", "bfloat16", "float16")

"""From the stored logsumexp and output where they are given, powers of two, tiles of keys and queries, split sums."""

LOG2E = 1.4426950408889634
KEYS, QUERIES = 5, 7


class Call(base.Backward):
    def find_weights(self):
        weights, lse = self.running_softmax()
        if self.logsumexp is not None and self.logsumexp.shape == self.full[:3]:
            stored = self.logsumexp.astype(self.kind)
            stored = np.where(self.counts[:, None], stored, lse)
            lse = np.where(np.isneginf(stored), lse, stored)
            anchor = np.where(np.isneginf(lse), 0, lse)[..., None]
            weights = np.where(self.pairs, np.exp2((self.logits - anchor) * self.kind.type(LOG2E)), 0)
        self.weights, self.lse = weights.astype(self.kind), lse.astype(self.kind)

    def running_softmax(self):
        largest = np.full(self.full[:3], -np.inf, self.kind)
        total = np.zeros(self.full[:3], self.kind)
        if self.sinks is not None:
            largest = np.broadcast_to(self.sinks.astype(self.kind)[None, :, None], self.full[:3]).copy()
            total = total + 1
        logits = np.where(self.pairs, self.logits, -np.inf)
        for begin in range(0, self.Sk, KEYS):
            part = logits[..., begin : begin + KEYS]
            higher = np.maximum(largest, part.max(axis=-1))
            anchor = np.where(np.isneginf(higher), 0, higher)
            total = total * np.exp2((largest - anchor) * self.kind.type(LOG2E)) + np.exp2(
                (part - anchor[..., None]) * self.kind.type(LOG2E)
            ).sum(axis=-1)
            largest = higher
        anchor = np.where(np.isneginf(largest), 0, largest)
        weights = np.exp2((logits - anchor[..., None]) * self.kind.type(LOG2E)) / np.where(total == 0, 1, total)[..., None]
        return np.where(self.pairs, weights, 0), np.log(total) + largest

    def find_delta(self):
        if self.output is None or self.output.shape != self.grad_output.shape:
            return super().find_delta()
        self.delta = self.from_output((self.go * self.output.astype(self.kind)).sum(axis=-1))

    def over_rows(self, pieces, rows):
        partial = [np.zeros((self.B, self.H, self.Sk, rows.shape[-1]), self.kind)]
        for begin in range(0, self.Sq, QUERIES):
            cut = np.s_[:, :, begin : begin + QUERIES]
            partial.append(base.product(base.turned(pieces[cut]), base.turned(self.pairs[cut]), rows[cut]))
        while len(partial) > 1:  # a tree
            partial = [sum(partial[at + 1 : at + 2], partial[at]) for at in range(0, len(partial), 2)]
        return partial[0]


def scaled_dot_product_attention_backward(
    grad_output, query, key, value, output=None, logsumexp=None, grad_logsumexp=None, mask=None, key_lengths=None,
    query_lengths=None, sinks=None, alibi_slopes=None, is_causal=False, causal_alignment="top_left", scale=None,
    softcap=None, window=None,
):
    return Call(**locals()).run()

"""Tiles of queries and keys with an online softmax, as FlashAttention computes."""

import numpy as np

from kernels.call import Kernel


class Tiled(Kernel):
    """Keys come tile by tile; a running maximum and a running sum are corrected at each."""

    query_tile = 8
    key_tile = 4

    def attend(self, call):
        batch, heads, _, queries, _, _, width = call.sizes
        output = np.zeros((batch, heads, queries, width), call.query.dtype)
        logsumexp = np.full((batch, heads, queries), -np.inf, call.query.dtype)
        for entry in range(batch):
            for head in range(heads):
                for first in range(0, queries, self.query_tile):
                    rows = np.arange(first, min(first + self.query_tile, queries))
                    finished = self.query_block(call, entry, head, rows)
                    output[entry, head, rows], logsumexp[entry, head, rows] = finished
        return output, logsumexp

    def query_block(self, call, entry, head, rows):
        query = call.query[entry, head]
        key, value = (array[entry, self.shared_head(call, head)] for array in (call.key, call.value))
        state = self.start(call, head, rows)
        for columns in self.key_blocks(call, entry, rows):
            logits = self.logits(call, entry, head, query, key, rows, columns)
            state = self.fold(*state, logits, value[columns])
        return self.finish(*state)

    def key_blocks(self, call, entry, rows):
        keys = call.key.shape[2]
        for first in range(0, keys, self.key_tile):
            yield np.arange(first, min(first + self.key_tile, keys))

    def start(self, call, head, rows):
        total = np.zeros((len(rows), call.value.shape[3]), call.query.dtype)
        if call.sinks is None:
            return np.full((len(rows), 1), -np.inf, call.query.dtype), np.zeros((len(rows), 1), call.query.dtype), total
        largest = np.full((len(rows), 1), call.sinks[head], call.query.dtype)
        return largest, np.ones((len(rows), 1), call.query.dtype), total

    def fold(self, largest, denominator, total, logits, values):
        new = np.maximum(largest, logits.max(axis=1, keepdims=True))
        shift = np.where(new == -np.inf, 0, new)
        correction = np.exp(largest - shift)
        parts = np.exp(logits - shift)
        denominator = denominator * correction + parts.sum(axis=1, keepdims=True)
        return new, denominator, total * correction + parts @ values

    def finish(self, largest, denominator, total):
        output = np.where(denominator == 0, 0, total / np.where(denominator == 0, 1, denominator))
        return output, (largest + np.log(denominator))[:, 0]

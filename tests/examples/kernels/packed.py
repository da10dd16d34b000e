"""Sequences of a batch laid end to end without padding, with the boundaries beside them: varlen kernels."""

import numpy as np

from kernels.call import Kernel


class Packed(Kernel):
    """Tokens are (total, heads, width); segment s holds the tokens from boundary s to boundary s + 1."""

    def attend(self, call):
        batch, heads, _, queries, _, _, width = call.sizes
        query_bounds = self.bounds([self.query_length(call, entry) for entry in range(batch)])
        key_bounds = self.bounds([self.key_length(call, entry) for entry in range(batch)])
        query = self.pack(call.query, query_bounds)
        key, value = self.pack(call.key, key_bounds), self.pack(call.value, key_bounds)
        output = np.zeros((batch, heads, queries, width), call.query.dtype)
        logsumexp = np.full((batch, heads, queries), -np.inf, call.query.dtype)
        for entry in range(batch):
            first, last = query_bounds[entry : entry + 2]
            for head in range(heads):
                shared = self.shared_head(call, head)
                segment = slice(*key_bounds[entry : entry + 2])
                results = self.segment(
                    call, entry, head, query[first:last, head], key[segment, shared], value[segment, shared]
                )
                output[entry, head, : last - first], logsumexp[entry, head, : last - first] = results
        return output, logsumexp

    def bounds(self, lengths):
        return np.concatenate([[0], np.cumsum(lengths)]).astype(int)

    def pack(self, array, bounds):
        tokens = array.transpose(0, 2, 1, 3)
        packed = np.empty((bounds[-1], *tokens.shape[2:]), array.dtype)
        for entry in range(len(tokens)):
            packed[bounds[entry] : bounds[entry + 1]] = tokens[entry, : bounds[entry + 1] - bounds[entry]]
        return packed

    def segment(self, call, entry, head, query, key, value):
        rows, columns = np.arange(len(query)), np.arange(len(key))
        logits = self.logits(call, entry, head, query, key, rows, columns)
        if call.sinks is not None:
            logits = np.concatenate([logits, np.full((len(rows), 1), call.sinks[head], logits.dtype)], axis=1)
        largest = logits.max(axis=1, keepdims=True, initial=-np.inf)
        exponentials = np.exp(logits - np.where(largest == -np.inf, 0, largest))
        denominator = exponentials.sum(axis=1, keepdims=True)
        output = exponentials[:, : len(key)] @ value / np.where(denominator == 0, 1, denominator)
        return output, (largest + np.log(denominator))[:, 0]

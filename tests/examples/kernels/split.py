"""The keys in several parts, each attended by itself, and the results merged: split-KV, ring and tree attention."""

import numpy as np

from kernels.call import Kernel


class SplitKeys(Kernel):
    """Each part gives a normalised output and a logsumexp; the merge weighs outputs by their logsumexp."""

    parts = 3

    def attend(self, call):
        batch, heads, _, queries, _, _, width = call.sizes
        output = np.zeros((batch, heads, queries, width), call.query.dtype)
        logsumexp = np.full((batch, heads, queries), -np.inf, call.query.dtype)
        rows = np.arange(queries)
        for entry in range(batch):
            for head in range(heads):
                partial = [self.part(call, entry, head, rows, columns) for columns in self.portions(call, entry)]
                output[entry, head], logsumexp[entry, head] = self.merge(call, head, partial)
        return output, logsumexp

    def portions(self, call, entry):
        return np.array_split(np.arange(call.key.shape[2]), self.parts)

    def part(self, call, entry, head, rows, columns):
        shared = self.shared_head(call, head)
        key, value = call.key[entry, shared], call.value[entry, shared]
        logits = self.logits(call, entry, head, call.query[entry, head], key, rows, columns)
        largest = logits.max(axis=1, keepdims=True, initial=-np.inf)
        exponentials = np.exp(logits - np.where(largest == -np.inf, 0, largest))
        denominator = exponentials.sum(axis=1, keepdims=True)
        output = exponentials / np.where(denominator == 0, 1, denominator) @ value[columns]
        return output, (largest + np.log(denominator))[:, 0]

    def merge(self, call, head, partial):
        outputs = np.stack([output for output, _ in partial])
        sums = np.stack([logsumexp for _, logsumexp in partial])
        if call.sinks is not None:
            sums = np.concatenate([sums, np.full_like(sums[:1], call.sinks[head])])
            outputs = np.concatenate([outputs, np.zeros_like(outputs[:1])])
        largest = sums.max(axis=0)
        shares = np.exp(sums - np.where(largest == -np.inf, 0, largest))
        total = shares.sum(axis=0)
        merged = (shares[..., None] * outputs).sum(axis=0) / np.where(total == 0, 1, total)[:, None]
        return merged, largest + np.log(total)

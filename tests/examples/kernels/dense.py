"""Whole tables at once with einsum, as frameworks write attention without a kernel."""

import numpy as np

from kernels.call import Kernel


class Dense(Kernel):
    """Query heads are grouped (B, Hkv, G, Sq, E), and each group reads one key head."""

    def attend(self, call):
        logits = self.table(call)
        weights, logsumexp = self.normalise(call, logits)
        return self.mix(call, weights), logsumexp

    def table(self, call):
        _, heads, _, queries, keys, *_ = call.sizes
        scores = self.cap(call, self.scores(call))
        rows, columns = np.arange(queries), np.arange(keys)
        offsets = self.offsets(call)
        distance = columns - (rows[:, None] + offsets)
        if call.slopes is not None:
            scores = scores - call.slopes.reshape(heads, 1, 1) * abs(distance)
        scores = self.add_mask(call, scores)
        return np.where(self.seen(call, distance, columns), scores, -np.inf).astype(call.query.dtype)

    def scores(self, call):
        batch, heads, shared, queries, keys, width, _ = call.sizes
        grouped = call.query.reshape(batch, shared, heads // shared, queries, width) * self.scale(call)
        return np.einsum("bhgqe,bhke->bhgqk", grouped, call.key).reshape(batch, heads, queries, keys)

    def offsets(self, call):
        batch = call.query.shape[0]
        return np.array([self.offset(call, entry) for entry in range(batch)]).reshape(batch, 1, 1, 1)

    def seen(self, call, distance, columns):
        batch = call.query.shape[0]
        lengths = np.array([self.key_length(call, entry) for entry in range(batch)]).reshape(batch, 1, 1, 1)
        seen = columns < lengths
        if call.is_causal:
            seen = seen & (distance <= 0)
        left, right = call.window or (None, None)
        if left is not None:
            seen = seen & (distance >= -left)
        if right is not None:
            seen = seen & (distance <= right)
        return seen

    def add_mask(self, call, scores):
        if call.mask is None:
            return scores
        if call.mask.dtype == bool:
            return np.where(call.mask, scores, -np.inf)
        return np.where(call.mask == -np.inf, -np.inf, scores + call.mask)

    def normalise(self, call, logits):
        keys = logits.shape[-1]
        if call.sinks is not None:
            column = np.broadcast_to(call.sinks.reshape(-1, 1, 1), (*logits.shape[:-1], 1))
            logits = np.concatenate([logits, column], axis=-1)
        largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        exponentials = np.exp(logits - np.where(largest == -np.inf, 0, largest))
        denominator = exponentials.sum(axis=-1, keepdims=True)
        weights = exponentials / np.where(denominator == 0, 1, denominator)
        return weights[..., :keys], (largest + np.log(denominator))[..., 0]

    def mix(self, call, weights):
        batch, heads, shared, queries, keys, _, width = call.sizes
        grouped = weights.reshape(batch, shared, heads // shared, queries, keys)
        return np.einsum("bhgqk,bhkv->bhgqv", grouped, call.value).reshape(batch, heads, queries, width)

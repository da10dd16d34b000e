"""Weights as exp(logit - logsumexp), with the logsumexp rounded: common, and less exact at large scores.

Every weight of a row takes the rounding of the logsumexp, which grows with the scores and does not cancel.
"""

import numpy as np
from kernels import Dense, Softmax, SplitKeys


class WeightsThroughLogsumexp(Dense):
    """Softmax as SciPy computed it before https://github.com/scipy/scipy/pull/11187."""

    def normalise(self, call, logits):
        keys = logits.shape[-1]
        if call.sinks is not None:
            column = np.broadcast_to(call.sinks.reshape(-1, 1, 1), (*logits.shape[:-1], 1))
            logits = np.concatenate([column, logits], axis=-1)
        logsumexp = np.logaddexp.reduce(logits, axis=-1, initial=-np.inf)
        weights = np.exp(logits - np.where(logsumexp == -np.inf, 0, logsumexp)[..., None])
        return weights[..., logits.shape[-1] - keys :], logsumexp


class MergedThroughLogsumexp(SplitKeys):
    """Parts are multiplied by exp(part's logsumexp - the whole one), and nothing is normalised after that."""

    def merge(self, call, head, partial):
        output, logsumexp = partial[0]
        more = list(partial[1:])
        if call.sinks is not None:
            more.append((np.zeros_like(output), np.full_like(logsumexp, call.sinks[head])))
        for other, sums in more:
            joined = np.logaddexp(logsumexp, sums)
            safe = np.where(joined == -np.inf, 0, joined)
            output = np.exp(logsumexp - safe)[:, None] * output + np.exp(sums - safe)[:, None] * other
            logsumexp = joined
        return output, logsumexp


class SoftmaxThroughLogsumexp(Softmax):
    """The same for a softmax alone."""

    def rows(self, rows):
        return np.exp(rows - np.logaddexp.reduce(rows, axis=1, keepdims=True))


THROUGH_LOGSUMEXP = (WeightsThroughLogsumexp, MergedThroughLogsumexp, SoftmaxThroughLogsumexp)

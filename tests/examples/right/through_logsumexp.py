"""Weights as exp(logit - logsumexp), with the logsumexp rounded: common, and less exact at large scores.

Every weight of a row takes the rounding of the logsumexp, which grows with the scores and does not cancel. The
tolerance has a part for it: one rounding a row or part, not one a key, as a chain of log-additions over all keys
would have.
"""

import numpy as np
from kernels import Dense, Softmax, SplitKeys


def log_of_sum(rows):
    largest = np.max(rows, axis=-1, keepdims=True, initial=-np.inf)
    largest = np.where(largest == -np.inf, 0, largest)
    return np.squeeze(largest, -1) + np.log(np.exp(rows - largest).sum(axis=-1))


class WeightsThroughLogsumexp(Dense):
    """Softmax as SciPy computed it before https://github.com/scipy/scipy/pull/11187."""

    def normalise(self, call, logits):
        keys = logits.shape[-1]
        if call.sinks is not None:
            column = np.broadcast_to(call.sinks.reshape(-1, 1, 1), (*logits.shape[:-1], 1))
            logits = np.concatenate([column, logits], axis=-1)
        logsumexp = log_of_sum(logits)
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


class MergedByInterpolation(SplitKeys):
    """A part moves the output towards its own by its share, as ring attention does it; no infinity survives that."""

    def merge(self, call, head, partial):
        if call.sinks is not None:
            raise NotImplementedError("a sink, beside which small outputs would be lost")
        output, logsumexp = partial[0]
        for other, sums in partial[1:]:
            ahead = np.where(sums == logsumexp, 0, sums - logsumexp)
            share = np.where(sums == -np.inf, 0, 1 / (1 + np.exp(-ahead)))[:, None]
            output = np.where(share == 0, output, np.where(share == 1, other, output + share * (other - output)))
            logsumexp = np.logaddexp(logsumexp, sums)
        return output, logsumexp


class SoftmaxThroughLogsumexp(Softmax):
    """The same for a softmax alone."""

    def rows(self, rows):
        return np.exp(rows - log_of_sum(rows)[:, None])


THROUGH_LOGSUMEXP = (WeightsThroughLogsumexp, MergedThroughLogsumexp, MergedByInterpolation, SoftmaxThroughLogsumexp)

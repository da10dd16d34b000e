"""Other formulas for the same numbers."""

import numpy as np
from kernels import Contexts, Dense, Modules, SingleHead, Softmax, Tiled

LOG2_E = 1.4426950408889634


class PowersOfTwo(Tiled):
    """Scores in units of log2(e), and exp2: no multiplication inside the exponential."""

    def fold(self, largest, denominator, total, logits, values):
        # The lowest number of a dtype would become minus infinity, which excludes.
        scaled = np.where(logits == -np.inf, logits, np.maximum(logits * LOG2_E, np.finfo(logits.dtype).min))
        new = np.maximum(largest, scaled.max(axis=1, keepdims=True))
        shift = np.where(new == -np.inf, 0, new)
        correction, parts = np.exp2(largest - shift), np.exp2(scaled - shift)
        return new, denominator * correction + parts.sum(axis=1, keepdims=True), total * correction + parts @ values

    def start(self, call, head, rows):
        largest, denominator, total = super().start(call, head, rows)
        return largest * LOG2_E, denominator, total

    def finish(self, largest, denominator, total):
        output, _ = super().finish(largest, denominator, total)
        return output, ((largest + np.log2(denominator)) / LOG2_E)[:, 0]


class LogDomain(Dense):
    """Logarithms of the weights first, and their exponentials last."""

    def normalise(self, call, logits):
        keys = logits.shape[-1]
        if call.sinks is not None:
            column = np.broadcast_to(call.sinks.reshape(-1, 1, 1), (*logits.shape[:-1], 1))
            logits = np.concatenate([column, logits], axis=-1)
        largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        distances = logits - np.where(largest == -np.inf, 0, largest)
        logarithm = np.logaddexp.reduce(distances, axis=-1, keepdims=True, initial=-np.inf)
        weights = np.exp(distances - np.where(logarithm == -np.inf, 0, logarithm))
        return weights[..., logits.shape[-1] - keys :], (largest + logarithm)[..., 0]


class ScaleOnBothSides(Dense):
    """Query and key each take the square root of the scale; its sign goes to the query."""

    def scores(self, call):
        root = abs(self.scale(call)) ** 0.5
        changed = type(call)(**vars(call))
        changed.key, changed.scale = call.key * root, np.copysign(root, self.scale(call))
        return super().scores(changed)


class RepeatedHeads(Dense):
    """Key and value heads are repeated in memory, and tokens stand before heads."""

    def scores(self, call):
        _, heads, shared, *_ = call.sizes
        query = call.query.transpose(0, 2, 1, 3)
        key = np.repeat(call.key.transpose(0, 2, 1, 3), heads // shared, axis=2)
        return np.einsum("bqhe,bkhe->bhqk", query, key) * self.scale(call)

    def mix(self, call, weights):
        _, heads, shared, *_ = call.sizes
        value = np.repeat(call.value.transpose(0, 2, 1, 3), heads // shared, axis=2)
        return np.einsum("bhqk,bkhv->bqhv", weights, value).transpose(0, 2, 1, 3)


class MaskOnceForAll(Dense):
    """Causality, window and lengths become one float mask that is added."""

    def seen(self, call, distance, columns):
        seen = super().seen(call, distance, columns)
        return np.exp(np.where(seen, 0.0, -np.inf)) > 0


class UnshiftedWhereItIsSafe(Dense):
    """The maximum is subtracted only from rows whose exponentials could overflow or vanish."""

    def normalise(self, call, logits):
        largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
        if call.sinks is not None or np.any(abs(largest[np.isfinite(largest)]) > 8):
            return super().normalise(call, logits)
        exponentials = np.exp(logits)
        total = exponentials.sum(axis=-1, keepdims=True)
        return exponentials / np.where(total == 0, 1, total), np.log(total)[..., 0]


class FusedProjections(Modules):
    """One product with the three matrices side by side where the tokens are the same array."""

    def project(self, tokens, weights, biases, num_heads):
        if not all(np.array_equal(tokens[0], other) for other in tokens[1:]):
            return super().project(tokens, weights, biases, num_heads)
        together = tokens[0] @ np.concatenate(weights, axis=1)
        parts = np.split(together, 3, axis=-1)
        return [
            self.split(part if bias is None else part + bias, num_heads)
            for part, bias in zip(parts, biases, strict=True)
        ]


class OutputHeadByHead(Modules):
    """Each head has its rows of the output matrix, and the results are added."""

    def merge(self, mixed):
        return mixed

    def out(self, mixed, weight, bias):
        heads, width = mixed.shape[2:]
        output = np.einsum("bqhe,hed->bqd", mixed, weight.reshape(heads, width, weight.shape[1]))
        return output if bias is None else output + bias


class ProjectedQueryMeetsTokens(SingleHead):
    """Query times key weights first: keys are never formed."""

    def project(self, x, w_query, w_key, w_value):
        self.width = w_query.shape[1]
        return x @ w_query @ w_key.T, x, x @ w_value

    def factor(self, query, scale):
        return self.width**-0.5 if scale is None else scale


class ContextAsOneProduct(Contexts):
    """Scores and context as products with the table of states."""

    def scores(self, states, query):
        return np.einsum("sd,d->s", states, query)

    def mix(self, shares, states):
        return states.T @ shares


class WholeRowSoftmax(Softmax):
    """One tile for the whole row."""

    tile = 10**6


FORMS = (
    PowersOfTwo,
    LogDomain,
    ScaleOnBothSides,
    RepeatedHeads,
    MaskOnceForAll,
    UnshiftedWhereItIsSafe,
    FusedProjections,
    OutputHeadByHead,
    ProjectedQueryMeetsTokens,
    ContextAsOneProduct,
    WholeRowSoftmax,
)

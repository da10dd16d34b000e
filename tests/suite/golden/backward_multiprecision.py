"""The gradients of attention with as many decimal digits as one likes, written from their page."""

from functools import cached_property
from types import SimpleNamespace

import mpmath
import numpy as np
from multiprecision import UNGRADED, Evaluation, ScaledDotProductAttention, dot, many_digits


class ScaledDotProductAttentionBackward(Evaluation):
    operation = "scaled_dot_product_attention_backward"

    def __init__(self, inputs, attributes) -> None:
        super().__init__(inputs, attributes)
        self.forward = ScaledDotProductAttention(inputs, attributes)
        self.batch, self.heads, self.queries, self.width = self.inputs.query.shape
        self.group = self.heads // self.inputs.key.shape[1]

    def exact(self, output, index):
        return None

    def of_query(self, item, head, query):
        """What one query sends back; None for one that does not count."""
        if not self.forward.graded(item, query):
            return None
        row = (item, head, query)
        return self.remembered(many_digits, row, lambda: self.new_query(*row))

    def new_query(self, item, head, query):
        row = self.forward.row(item, head, query, many_digits)
        given = [*map(many_digits, self.inputs.grad_output[item, head, query])]
        upstream = self.forward.given("grad_logsumexp")
        upstream = mpmath.mpf(0) if upstream is None else many_digits(upstream[item, head, query])
        weights = {j: row.weight(j) for j in row.attended}
        of_weights = {j: dot(given, row.values[j]) for j in row.attended}
        delta = sum((weights[j] * of_weights[j] for j in row.attended), mpmath.mpf(0))
        logits = {j: weights[j] * (of_weights[j] - delta + upstream) for j in row.attended}
        scores = {j: logits[j] * (mpmath.sech(row.score(j) / row.softcap) ** 2 if row.softcap else 1) for j in logits}
        sink = mpmath.mpf(0)
        if row.sink is not None:
            share = mpmath.nan if row.powers is None else row.powers[1] / row.total
            sink = share * (upstream - delta)
        return SimpleNamespace(weights=weights, delta=delta, logits=logits, scores=scores, sink=sink, scale=row.scale)

    def over_queries(self, index, what, weighed, *, scaled):
        item, shared, key, feature = index
        total = mpmath.mpf(0)
        for head in range(shared * self.group, (shared + 1) * self.group):
            for query in range(self.queries):
                sent = self.of_query(item, head, query)
                if sent is not None and key in getattr(sent, what):
                    factor = sent.scale if scaled else 1
                    number = many_digits(weighed[item, head, query, feature])
                    total += factor * getattr(sent, what)[key] * number
        return total

    def grad_query(self, index, number):
        sent = self.of_query(*index[:3])
        if sent is None:
            return UNGRADED
        keys = self.inputs.key[index[0], index[1] // self.group, :, index[3]]
        return sum((sent.scale * sent.scores[j] * many_digits(keys[j]) for j in sent.scores), mpmath.mpf(0))

    def grad_key(self, index, number):
        return self.over_queries(index, "scores", self.inputs.query, scaled=True)

    def grad_value(self, index, number):
        return self.over_queries(index, "weights", self.inputs.grad_output, scaled=False)

    def delta(self, index, number):
        sent = self.of_query(*index)
        return UNGRADED if sent is None else sent.delta

    def grad_scores(self, index, number):
        sent = self.of_query(*index[:3])
        return UNGRADED if sent is None else sent.scores.get(index[3], mpmath.mpf(0))

    @cached_property
    def mask_elements(self):
        """The number of the element of the mask that each score reads."""
        mask = self.inputs.mask
        shape = (self.batch, self.heads, self.queries, self.inputs.key.shape[2])
        return np.broadcast_to(np.arange(mask.size).reshape(mask.shape), shape)

    def grad_mask(self, index, number):
        element = np.ravel_multi_index(index, self.inputs.mask.shape)
        total = mpmath.mpf(0)
        for item, head, query, key in np.argwhere(self.mask_elements == element).tolist():
            sent = self.of_query(item, head, query)
            total += 0 if sent is None else sent.logits.get(key, 0)
        return total

    def grad_sinks(self, index, number):
        queries = ((item, index[0], query) for item in range(self.batch) for query in range(self.queries))
        return sum((sent.sink for row in queries if (sent := self.of_query(*row)) is not None), mpmath.mpf(0))

"""The routes through single-head attention that document 000 compares, with its softmax put right.

All of them are correct and must pass the same cases: the plain route, the route that multiplies W_V by W_O
first, and the four ways of forming the final product, two of which are the same calls
(E000.same_approach_twice).
"""

import numpy as np


class Route:
    """What the routes share: everything up to the weights."""

    dtypes = ("float64", "float32")

    @property
    def name(self):
        return f"document 000, {type(self).__name__}"

    def single_head_attention(self, x, w_query, w_key, w_value, *, w_output=None, scale=None):
        query, key = x @ w_query, x @ w_key
        scores = query @ key.T * (query.shape[-1] ** -0.5 if scale is None else scale)
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
        if w_output is None:
            w_output = np.eye(w_value.shape[-1], dtype=w_value.dtype)
        return {
            "query": query,
            "key": key,
            "scores": scores,
            "weights": weights,
            "output": self.finish(weights, x, w_value, w_output),
        }

    def finish(self, weights, x, w_value, w_output):
        raise NotImplementedError


class Plain(Route):
    def finish(self, weights, x, w_value, w_output):
        return (weights @ (x @ w_value)) @ w_output


class Fused(Route):
    def finish(self, weights, x, w_value, w_output):
        return np.dot(weights, np.dot(x, np.dot(w_value, w_output)))


class FinalMatmul(Route):
    def finish(self, weights, x, w_value, w_output):
        return np.matmul(weights, np.dot(x, w_value @ w_output))


class FinalEinsum(Route):
    def finish(self, weights, x, w_value, w_output):
        return np.einsum("qk,kd->qd", weights, np.einsum("kf,fd->kd", x, w_value @ w_output))


class FinalMatmulAgain(FinalMatmul):
    """The document's third approach, which makes the same calls as its first."""


class FinalDotAfterEinsum(Route):
    def finish(self, weights, x, w_value, w_output):
        return np.dot(weights, np.einsum("kf,fd->kd", x, w_value @ w_output))

"""The operations around attention, as layers and lessons write them."""

import numpy as np


def stable_softmax(scores):
    """Softmax along the last axis."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


class Wide:
    """Half precision is computed in single precision."""

    dtypes = ("float64", "float32", "float16", "bfloat16")
    conventions = {"input_checks": "lenient"}  # noqa: RUF012

    @property
    def name(self):
        return type(self).__name__

    def widened(self, array):
        if array is None or array.dtype in (np.float64, np.float32, bool):
            return array
        return array.astype(np.float32)


class Modules(Wide):
    """Multi-head attention: one product with the three matrices side by side, tokens before heads throughout."""

    conventions = {  # noqa: RUF012
        "input_checks": "lenient",
        "multi_head_attention.fully_masked_row": "zero",
        "multi_head_attention.masked_nonfinite": "propagates",
    }

    def multi_head_attention(
        self,
        query,
        key,
        value,
        w_query,
        w_key,
        w_value,
        w_output,
        b_query=None,
        b_key=None,
        b_value=None,
        b_output=None,
        mask=None,
        *,
        num_heads,
        is_causal=False,
        scale=None,
    ):
        dtype = query.dtype
        if query.shape[-1] % num_heads:
            raise ValueError("heads do not divide the width")
        tokens = [self.widened(array) for array in (query, key, value)]
        weights = [self.widened(array) for array in (w_query, w_key, w_value)]
        biases = [self.widened(array) for array in (b_query, b_key, b_value)]
        heads = self.project(tokens, weights, biases, num_heads)
        scores = self.scores(heads[0], heads[1], scale)
        scores = self.masked(scores, self.widened(mask), is_causal)
        shares = self.shares(scores)
        mixed = self.merge(np.einsum("bhqk,bkhe->bqhe", shares, heads[2]))
        output = self.out(mixed, self.widened(w_output), self.widened(b_output))
        return output.astype(dtype), self.returned_weights(shares).astype(dtype)

    def project(self, tokens, weights, biases, num_heads):
        projected = [x @ w if b is None else x @ w + b for x, w, b in zip(tokens, weights, biases, strict=True)]
        return [self.split(x, num_heads) for x in projected]

    def split(self, x, num_heads):
        return x.reshape(*x.shape[:2], num_heads, x.shape[2] // num_heads)

    def scores(self, query, key, scale):
        return np.einsum("bqhe,bkhe->bhqk", query, key) * (query.shape[-1] ** -0.5 if scale is None else scale)

    def masked(self, scores, mask, is_causal):
        if mask is not None:
            scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
        if is_causal:
            scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
        return scores

    def shares(self, scores):
        largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
        exponentials = np.exp(scores - np.where(largest == -np.inf, 0, largest))
        total = exponentials.sum(axis=-1, keepdims=True)
        return exponentials / np.where(total == 0, 1, total)

    def merge(self, mixed):
        return mixed.reshape(*mixed.shape[:2], mixed.shape[2] * mixed.shape[3])

    def out(self, mixed, weight, bias):
        return mixed @ weight if bias is None else mixed @ weight + bias

    def returned_weights(self, shares):
        return shares


class SingleHead(Wide):
    """Single-head attention, query by query."""

    def single_head_attention(self, x, w_query, w_key, w_value, w_output=None, *, scale=None):
        dtype = x.dtype
        x, w_query, w_key, w_value, w_output = map(self.widened, (x, w_query, w_key, w_value, w_output))
        query, key, value = self.project(x, w_query, w_key, w_value)
        factor = self.factor(query, scale)
        output = np.stack([self.one(row, key, value, factor) for row in query])
        if w_output is not None:
            output = self.out(output, w_output)
        return output.astype(dtype)

    def project(self, x, w_query, w_key, w_value):
        return x @ w_query, x @ w_key, x @ w_value

    def factor(self, query, scale):
        return query.shape[-1] ** -0.5 if scale is None else scale

    def one(self, query, key, value, factor):
        return stable_softmax(key @ query * factor) @ value

    def out(self, output, weight):
        return output @ weight


class Contexts(Wide):
    """The context vector, token by token."""

    def context_vector(self, encoder_states, decoder_state, *, scale=None):
        states, query = self.widened(encoder_states), self.widened(decoder_state)
        if states.shape[-1] != query.shape[-1]:
            raise ValueError("widths differ")
        scores = self.scores(states, query) * self.factor(states, scale)
        return self.mix(self.shares(scores), states).astype(encoder_states.dtype)

    def scores(self, states, query):
        return np.array([state @ query for state in states])

    def factor(self, states, scale):
        return states.shape[1] ** -0.5 if scale is None else scale

    def shares(self, scores):
        return stable_softmax(scores)

    def mix(self, shares, states):
        return sum(share * state for share, state in zip(shares, states, strict=True))


class Softmax(Wide):
    """Softmax in one pass over tiles, with a running maximum and a running sum."""

    tile = 4

    def softmax(self, x, *, axis=-1):
        wide = self.widened(np.asarray(x))
        if axis is None:
            return self.rows(wide.reshape(1, -1)).reshape(x.shape).astype(x.dtype)
        moved = np.moveaxis(wide, axis, -1)
        rows = self.rows(moved.reshape(-1, moved.shape[-1]))
        return np.moveaxis(rows.reshape(moved.shape), -1, axis).astype(x.dtype)

    def rows(self, rows):
        largest = self.first(rows)
        total = np.zeros((len(rows), 1), rows.dtype)
        with np.errstate(all="ignore"):
            for first in range(0, rows.shape[1], self.tile):
                largest, total = self.fold(largest, total, rows[:, first : first + self.tile])
            return np.exp(rows - largest) / total

    def first(self, rows):
        return np.full((len(rows), 1), -np.inf, rows.dtype)

    def fold(self, largest, total, tile):
        new = np.maximum(largest, tile.max(axis=1, keepdims=True))
        correction = np.where(largest == -np.inf, 0, np.exp(largest - new))
        return new, total * correction + np.exp(tile - np.where(new == -np.inf, 0, new)).sum(axis=1, keepdims=True)


class Shapes(Wide):
    """Masks and heads, element by element."""

    def causal_mask(self, *, query_length, key_length=None, offset=0, additive=False):
        keys = query_length if key_length is None else key_length
        seen = np.array([[self.sees(i, j, offset) for j in range(keys)] for i in range(query_length)], dtype=bool)
        seen = seen.reshape(query_length, keys)
        return self.additive(seen) if additive else seen

    def sees(self, i, j, offset):
        return j - i <= offset

    def additive(self, seen):
        return np.log(seen.astype(float)) if seen.all() else np.where(seen, 0.0, -np.inf)

    def split_heads(self, x, *, num_heads):
        batch, tokens, width = x.shape
        if width % num_heads:
            raise ValueError("heads do not divide the width")
        heads = np.empty((batch, num_heads, tokens, width // num_heads), x.dtype)
        for head in range(num_heads):
            heads[:, head] = x[:, :, self.slice_of(head, num_heads, width // num_heads)]
        return heads

    def slice_of(self, head, num_heads, width):
        return slice(head * width, (head + 1) * width)

    def combine_heads(self, x):
        return np.concatenate(list(self.heads_of(x)), axis=-1)

    def heads_of(self, x):
        return np.moveaxis(x, 1, 0)

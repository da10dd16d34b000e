"""The gradients of attention on given queries, keys and values."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec_oracle.attention.attending import attend, check_attention, group_of, shared_among, transposed
from attnspec_oracle.attention.gradients import Combination, Numbers, QueryGradients, Totals
from attnspec_oracle.attention.logits import Scale
from attnspec_oracle.attention.reached import Reached
from attnspec_oracle.attention.rows import Values
from attnspec_oracle.certification import certify
from attnspec_oracle.exact import ExactArray, exact_array, joined, matmul

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from attnspec_oracle.attention.attending import Attending
    from attnspec_oracle.certification import Elements, Outputs

_UNSCALED = Scale(Fraction(1))


def scaled_dot_product_attention_backward(
    *,
    grad_output: NDArray[Any],
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    output: NDArray[Any] | None = None,
    logsumexp: NDArray[Any] | None = None,
    grad_logsumexp: NDArray[Any] | None = None,
    mask: NDArray[Any] | None = None,
    key_lengths: NDArray[Any] | None = None,
    query_lengths: NDArray[Any] | None = None,
    sinks: NDArray[Any] | None = None,
    alibi_slopes: NDArray[Any] | None = None,
    is_causal: bool = False,
    causal_alignment: str = "top_left",
    scale: float | None = None,
    softcap: float | None = None,
    window: Sequence[int | None] | None = None,
) -> Outputs:
    """Evaluate ``scaled_dot_product_attention_backward`` (clauses ``sdpa_backward.*``).

    Parameters
    ----------
    grad_output
        (B, Hq, Sq, Ev).
    query, key, value
        (B, Hq, Sq, E), (B, Hkv, Sk, E), (B, Hkv, Sk, Ev).
    output, logsumexp
        Not read: they follow from the other inputs, and what is exact does not depend on how they were rounded.
    grad_logsumexp
        (B, Hq, Sq); zeros when None.
    mask, key_lengths, query_lengths, sinks, alibi_slopes, is_causal, causal_alignment, scale, softcap, window
        As the forward pass takes them.

    Returns
    -------
    dict[str, Callable]
        ``grad_query`` (B, Hq, Sq, E), ``grad_key`` (B, Hkv, Sk, E), ``grad_value`` (B, Hkv, Sk, Ev), ``delta``
        (B, Hq, Sq), ``grad_scores`` (B, Hq, Sq, Sk); with a float mask ``grad_mask``, of its shape; with sinks
        ``grad_sinks`` (Hq).

    Raises
    ------
    ValueError
        When shapes contradict each other or an attribute has no meaning.
    """
    del output, logsumexp
    check_attention(query.shape, key.shape, value.shape)
    if grad_output.shape != (*query.shape[:3], value.shape[3]):
        raise ValueError(f"grad_output needs the shape {(*query.shape[:3], value.shape[3])}, not {grad_output.shape}.")
    grad_logsumexp = np.zeros(query.shape[:3]) if grad_logsumexp is None else grad_logsumexp
    if grad_logsumexp.shape != query.shape[:3]:
        raise ValueError(f"grad_logsumexp needs the shape {query.shape[:3]}, not {grad_logsumexp.shape}.")
    heads = query.shape[1]
    attending = attend(
        query,
        shared_among(heads, key),
        mask=mask,
        key_lengths=key_lengths,
        query_lengths=query_lengths,
        sinks=sinks,
        alibi_slopes=alibi_slopes,
        is_causal=is_causal,
        causal_alignment=causal_alignment,
        scale=scale,
        softcap=softcap,
        window=window,
    )
    gradients = _Gradients(attending, grad_output, query, key, value, grad_logsumexp)
    found: dict[str, Callable[[Elements], NDArray[Any]]] = {
        "grad_query": gradients.of_queries,
        "grad_key": gradients.of_keys,
        "grad_value": gradients.of_values,
        "delta": gradients.delta,
        "grad_scores": gradients.of_scores,
    }
    if mask is not None and mask.dtype != np.bool_:
        found["grad_mask"] = lambda elements: gradients.of_mask(mask.shape, elements)
    if sinks is not None:
        found["grad_sinks"] = gradients.of_sinks
    return found


class _Gradients:
    """All gradients of one call: certified where they are finite, NaN where NaN reaches them."""

    def __init__(
        self,
        attending: Attending,
        grad_output: NDArray[Any],
        query: NDArray[Any],
        key: NDArray[Any],
        value: NDArray[Any],
        grad_logsumexp: NDArray[Any],
    ) -> None:
        self._attending = attending
        batch, heads, queries, keys = attending.dots.shape
        self._batch, self._heads, self._shared = batch, heads, int(key.shape[1])
        self._queries, self._keys = queries, keys
        self._query, self._key, self._grad_output = exact_array(query), exact_array(key), exact_array(grad_output)
        values = shared_among(self._heads, value)
        self._rows = _query_gradients(attending, matmul(self._grad_output, transposed(values)), grad_logsumexp)
        self._reached = Reached(attending, grad_output, values.nonfinite, grad_logsumexp)

    def of_queries(self, elements: Elements) -> NDArray[np.float64]:
        """Round the gradients of the queries (B, Hq, Sq, E)."""
        matrices = self._of_each_shared_head(self._key)

        def row(index: int) -> Combination:
            matrix = matrices[index // (self._queries * group_of(self._heads, self._shared))]
            gradients = self._rows[index]
            factors = Numbers(gradients.grad_scores, lambda: gradients.exact_grad_scores)
            return Combination(factors, matrix, self._attending.scale)

        return self._reached.of_queries(certify("grad_query", row, self._query.shape, elements))

    def of_keys(self, elements: Elements) -> NDArray[np.float64]:
        """Round the gradients of the keys (B, Hkv, Sk, E)."""

        def column(rows: Sequence[QueryGradients], key: int) -> Numbers:
            return Numbers(
                lambda: [row.grad_scores()[key] for row in rows], lambda: [row.exact_grad_scores[key] for row in rows]
            )

        certified = self._over_queries("grad_key", column, self._query, self._attending.scale, elements)
        return self._reached.of_keys(certified)

    def of_values(self, elements: Elements) -> NDArray[np.float64]:
        """Round the gradients of the values (B, Hkv, Sk, Ev)."""

        def column(rows: Sequence[QueryGradients], key: int) -> Numbers:
            return Numbers(
                lambda: [row.weights()[key] for row in rows], lambda: [row.exact_weights[key] for row in rows]
            )

        certified = self._over_queries("grad_value", column, self._grad_output, _UNSCALED, elements)
        return self._reached.of_values(certified)

    def of_scores(self, elements: Elements) -> NDArray[np.float64]:
        """Round the gradients of the scores (B, Hq, Sq, Sk)."""

        def row(index: int) -> Totals:
            gradients = self._rows[index]
            return Totals([Numbers(gradients.grad_scores, lambda: gradients.exact_grad_scores)])

        return self._reached.of_scores(certify("grad_scores", row, self._attending.dots.shape, elements))

    def delta(self, elements: Elements) -> NDArray[np.float64]:
        """Round the mean of the gradients of the weights (B, Hq, Sq)."""

        def row(index: int) -> Totals:
            gradients = self._rows[index]
            return Totals([Numbers(gradients.delta, lambda: gradients.exact_delta)])

        shape = self._attending.dots.shape[:-1]
        return self._reached.delta(certify("delta", row, (*shape, 1), elements).reshape(shape))

    def of_mask(self, shape: tuple[int, ...], elements: Elements) -> NDArray[np.float64]:
        """Round the gradients of a float mask, of its shape."""
        of_rows = np.broadcast_to(
            np.arange(math.prod(shape[:-1])).reshape(shape[:-1]), self._attending.dots.shape[:-1]
        ).ravel()

        def row(index: int) -> Totals:
            return Totals([_logits_of(self._rows[at]) for at in np.flatnonzero(of_rows == index)])

        return self._reached.of_mask(certify("grad_mask", row, shape, elements))

    def of_sinks(self, elements: Elements) -> NDArray[np.float64]:
        """Round the gradients of the sinks (Hq): a sink is the last column of the logits of its head."""
        rows = np.arange(len(self._rows)).reshape(self._batch, self._heads, self._queries)

        def row(head: int) -> Totals:
            return Totals([_sink_of(self._rows[at]) for at in rows[:, head].ravel()])

        return self._reached.of_sinks(certify("grad_sinks", row, (self._heads, 1), elements)[:, 0])

    def _over_queries(
        self,
        output: str,
        column: Callable[[Sequence[QueryGradients], int], Numbers],
        weighed: ExactArray,
        scale: Scale,
        elements: Elements,
    ) -> NDArray[np.float64]:
        """Round, for each key (B, Hkv, Sk, width), a sum over the queries of the heads that share it."""
        width = weighed.shape[-1]
        # The heads of a group are neighbours, so its queries lie behind one another.
        queries = group_of(self._heads, self._shared) * self._queries
        together = weighed.rearranged(lambda moved: moved.reshape(self._batch, self._shared, queries, width))
        matrices = self._of_each_shared_head(together)

        def row(index: int) -> Combination:
            group, key = divmod(index, self._keys)
            rows = self._rows[group * queries : (group + 1) * queries]
            return Combination(column(rows, key), matrices[group], scale)

        return certify(output, row, (self._batch, self._shared, self._keys, width), elements)

    def _of_each_shared_head(self, array: ExactArray) -> list[Values]:
        """Cut (B, Hkv, rows, width) into matrices, one after the other."""

        def cut(at: tuple[int, ...]) -> Values:
            return Values(array.rearranged(lambda moved: moved[at]))

        return [cut(at) for at in np.ndindex(self._batch, self._shared)]


def _query_gradients(
    attending: Attending, grad_weights: ExactArray, grad_logsumexp: NDArray[Any]
) -> list[QueryGradients]:
    """Give what goes back through the softmax of every query, in row-major order."""
    columns = attending.softmax.logits.shape[-1]
    if columns > grad_weights.shape[-1]:
        grad_weights = joined(grad_weights, exact_array(np.zeros((*grad_weights.shape[:-1], 1))), axis=-1)
    # One power of two for both, for they are added.
    together = joined(grad_weights, exact_array(grad_logsumexp[..., np.newaxis]), axis=-1)
    numbers = together.integers.reshape(math.prod(grad_logsumexp.shape), columns + 1).tolist()
    scores = attending.scores
    softcap = float(attending.softcap or 0.0)
    return [
        QueryGradients(
            attending.softmax.row(index),
            row[:columns],
            row[columns],
            together.exponent,
            scores,
            scores.row(index),
            softcap,
        )
        for index, row in enumerate(numbers)
    ]


def _logits_of(gradients: QueryGradients) -> Numbers:
    return Numbers(gradients.grad_logits, lambda: gradients.exact_grad_logits)


def _sink_of(gradients: QueryGradients) -> Numbers:
    return Numbers(lambda: gradients.grad_logits()[-1:], lambda: gradients.exact_grad_logits[-1:])

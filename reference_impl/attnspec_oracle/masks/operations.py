"""The operation of masks that the oracle evaluates: every pair of a query and a key is looked at by itself."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec_oracle.certification import Outputs


@dataclass(frozen=True)
class _Pairs:
    """The rules of one batch entry and head; each method answers for one query i and one key j."""

    inputs: Mapping[str, Any]
    attributes: Mapping[str, Any]
    key_length: int
    entry: int
    head: int

    def attended(self, i: int, j: int) -> bool:
        """Say whether query i may attend to key j (clauses ``attention_mask.*``)."""
        if not (self._of("left_padding", 0) <= j < self._keys and i < self._queries):
            return False
        documents = self._document("query", i), self._document("key", j)
        if documents[0] != documents[1] or documents[0] < 0:
            return False
        k, p = self._positions(i, j, documents[0])
        return self._near(k, p) and self._on_branch(i, j) and self._in_table(i, j)

    @property
    def _keys(self) -> int:
        return self._of("key_lengths", self.key_length)

    @property
    def _queries(self) -> int:
        return self._of("query_lengths", self.attributes["query_length"])

    def _row(self, name: str) -> list[int]:
        rows = self.inputs[name].tolist()
        return rows[self.entry if len(rows) > 1 else 0]

    def _of(self, name: str, otherwise: int) -> int:
        if name not in self.inputs:
            return otherwise
        numbers = self.inputs[name].tolist()
        return numbers[self.entry if len(numbers) > 1 else 0]

    def _document(self, side: str, token: int) -> int:
        if f"{side}_documents" in self.inputs:
            return self._row(f"{side}_documents")[token]
        if f"{side}_starts" not in self.inputs:
            return 0
        starts = self.inputs[f"{side}_starts"].tolist()
        holding = (n for n in range(len(starts) - 1) if starts[n] <= token < starts[n + 1])
        return next(holding, -1)

    def _positions(self, i: int, j: int, document: int) -> tuple[int, int]:
        from_the_end = self.attributes.get("causal_alignment") == "bottom_right"
        if "query_starts" in self.inputs:
            (q0, q1), (k0, k1) = (
                self.inputs[f"{side}_starts"].tolist()[document : document + 2] for side in ("query", "key")
            )
            return j - k0, i - q0 + (k1 - k0 - (q1 - q0) if from_the_end else 0)
        return j, i + self._first

    @property
    def _first(self) -> int:
        if self.attributes.get("causal_alignment") == "bottom_right":
            return self._keys - self._queries
        return self.attributes.get("offset", 0)

    def _near(self, k: int, p: int) -> bool:
        if self.attributes.get("is_causal") and k > p and k >= self._of("prefix_lengths", 0):
            return False
        left, right = self.attributes.get("window") or (None, None)
        if (left is not None and p - k > left) or (right is not None and k - p > right):
            return False
        chunk, start = self.attributes.get("chunk"), self._of("left_padding", 0)
        return chunk is None or (k - start) // chunk == (p - start) // chunk

    def _on_branch(self, i: int, j: int) -> bool:
        if "parents" not in self.inputs or j < self._first:
            return True
        parents, token = self._row("parents"), i
        while token >= 0 and token != j - self._first:
            token = parents[token]
        return token >= 0

    def _in_table(self, i: int, j: int) -> bool:
        if "attended_blocks" not in self.inputs:
            return True
        table = self.inputs["attended_blocks"]
        rows, columns = self.attributes["attended_block_size"]
        at = (self.entry, self.head, i // rows, j // columns)[4 - table.ndim :]
        return bool(table[tuple(block if length > 1 else 0 for block, length in zip(at, table.shape, strict=True))])


def attention_mask(**arguments: Any) -> Outputs:
    """Evaluate ``attention_mask`` (clauses ``attention_mask.*``): (B, H, Sq, Sk), bool or 0/-inf, and its blocks."""
    inputs: dict[str, NDArray[Any]] = {
        name: value for name, value in arguments.items() if isinstance(value, np.ndarray)
    }
    attributes = {name: value for name, value in arguments.items() if name not in inputs}
    rows, columns = attributes["query_length"], attributes.get("key_length")
    columns = rows if columns is None else columns
    batch, heads = _batch_and_heads(inputs)
    mask = np.zeros((batch, heads, rows, columns), dtype=np.bool_)
    for entry, head in product(range(batch), range(heads)):
        pairs = _Pairs(inputs, attributes, columns, entry, head)
        for i, j in product(range(rows), range(columns)):
            mask[entry, head, i, j] = pairs.attended(i, j)
    size = attributes.get("block_size", (128, 128))
    some, whole = _lists(mask, size, whole=False), _lists(mask, size, whole=True)
    return {
        "mask": lambda _: mask,
        "additive": lambda _: np.where(mask, 0.0, -np.inf),
        "block_counts": lambda _: some[0],
        "block_indices": lambda _: some[1],
        "full_counts": lambda _: whole[0],
        "full_indices": lambda _: whole[1],
    }


def _batch_and_heads(inputs: Mapping[str, NDArray[Any]]) -> tuple[int, int]:
    """Give the number of batch entries and of heads: what an input has more than one of, or none of, else 1."""
    batch, heads = [1], [1]
    for name, array in inputs.items():
        if name == "attended_blocks":
            entries, of_table = (1, 1, *array.shape)[-4:-2]
            batch.append(entries)
            heads.append(of_table)
        elif not name.endswith("_starts"):
            batch.append(len(array))
    return next((n for n in batch if n != 1), 1), next((n for n in heads if n != 1), 1)


def _lists(mask: NDArray[np.bool_], size: Sequence[int], *, whole: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """List the blocks of each row of blocks: those attended in part or `whole`, and behind them all others."""
    batch, heads, queries, keys = mask.shape
    rows, columns = (range(0, length, step) for length, step in zip((queries, keys), size, strict=True))
    counts = np.zeros((batch, heads, len(rows)), dtype=np.int64)
    indices = np.zeros((batch, heads, len(rows), len(columns)), dtype=np.int64)
    needed = size[0] * size[1] if whole else 1

    def listed(matrix: NDArray[np.bool_], row: int) -> Iterator[int]:
        for number, column in enumerate(columns):
            if int(matrix[row : row + size[0], column : column + size[1]].sum()) >= needed:
                yield number

    for entry, head in product(range(batch), range(heads)):
        for number, row in enumerate(rows):
            first = list(listed(mask[entry, head], row))
            counts[entry, head, number] = len(first)
            indices[entry, head, number] = [*first, *(n for n in range(len(columns)) if n not in first)]
    return counts, indices


OPERATIONS: Mapping[str, Callable[..., Outputs]] = {"attention_mask": attention_mask}
"""The operation of masks by name."""

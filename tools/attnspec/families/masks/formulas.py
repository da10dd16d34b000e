"""Formulas of masks: the lines of NumPy that compute the outputs of a case."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attnspec.cases import Case


def formula(case: Case) -> list[str]:
    """Return the lines of NumPy that compute the outputs of a case, under the contract's names."""
    return [*_positions(case), "mask = np.ones((1, 1, 1, 1), bool)", *_rules(case), *_outputs(case)]


def _positions(case: Case) -> Iterator[str]:
    rows, columns = case.attributes["query_length"], case.attributes.get("key_length")
    columns = rows if columns is None else columns
    yield f"i, j = np.arange({rows})[:, None], np.arange({columns})"
    lengths = {"L": ("key_lengths", columns), "N": ("query_lengths", rows), "s": ("left_padding", 0)}
    for name, (argument, otherwise) in lengths.items():
        yield f"{name} = {f'{argument}[:, None, None, None]' if argument in case.inputs else otherwise}"
    from_the_end = case.attributes.get("causal_alignment") == "bottom_right"
    if "query_starts" not in case.inputs:
        yield f"f = {'L - N' if from_the_end else case.attributes.get('offset', 0)}"
        yield "p, k = i + f, j"
        return
    for token, side in (("i", "query"), ("j", "key")):
        yield f"of_{side} = np.searchsorted({side}_starts, {token}, side='right') - 1"
        yield f"of_{side} = np.where(of_{side} < len({side}_starts) - 1, of_{side}, -1)"
    yield "p, k = i - query_starts[of_query], j - key_starts[of_key]"
    if from_the_end:
        yield "p = p + np.append(np.diff(key_starts) - np.diff(query_starts), 0)[of_query]"


def _rules(case: Case) -> Iterator[str]:
    inputs, attributes = case.inputs, case.attributes
    if attributes.get("is_causal"):
        prefix = " | (k < prefix_lengths[:, None, None, None])" if "prefix_lengths" in inputs else ""
        yield f"mask = mask & ((k <= p){prefix})"
    left, right = attributes.get("window") or (None, None)
    if left is not None:
        yield f"mask = mask & (k >= p - {left})"
    if right is not None:
        yield f"mask = mask & (k <= p + {right})"
    if attributes.get("chunk") is not None:
        yield f"mask = mask & ((k - s) // {attributes['chunk']} == (p - s) // {attributes['chunk']})"
    if "query_documents" in inputs:
        yield "of_query, of_key = query_documents[:, None, :, None], key_documents[:, None, None, :]"
    if "query_documents" in inputs or "query_starts" in inputs:
        yield "mask = mask & (of_query == of_key) & (of_query >= 0)"
    if "parents" in inputs:
        yield from _tree()
    if {"left_padding", "key_lengths", "query_lengths"} & inputs.keys():
        yield "mask = mask & (j >= s) & (j < L) & (i < N)"
    if "attended_blocks" in inputs:
        blocks = zip(("i", "j"), attributes["attended_block_size"], case.shapes["attended_blocks"][-2:], strict=True)
        row, column = (f"{token} // {size}" if length > 1 else f"0 * {token}" for token, size, length in blocks)
        yield f"mask = mask & attended_blocks[..., {row}, {column}]"


def _tree() -> Iterator[str]:
    yield "on_branch, reached = j < f, np.broadcast_to(i, (len(parents), 1, len(i), 1))"
    yield "for _ in range(len(i)):"
    yield "    on_branch = on_branch | ((reached >= 0) & (j == reached + f))"
    yield "    above = np.take_along_axis(parents[:, None, :, None], np.maximum(reached, 0), axis=2)"
    yield "    reached = np.where(reached >= 0, above, -1)"
    yield "mask = mask & on_branch"


def _outputs(case: Case) -> Iterator[str]:
    batch = max([len(array) for name, array in case.inputs.items() if not name.endswith(("_starts", "_blocks"))] + [1])
    table = (1, 1, *case.shapes.get("attended_blocks", (1, 1)))
    yield f"mask = np.broadcast_to(mask, ({max(batch, table[-4])}, {table[-3]}, i.size, j.size))"
    yield "additive = np.where(mask, 0.0, -np.inf)"
    r, c = case.attributes.get("block_size", (128, 128))
    yield f"padded = np.pad(mask, ((0, 0), (0, 0), (0, -i.size % {r}), (0, -j.size % {c})))"
    yield "B, H, rows, columns = padded.shape"
    yield f"blocks = padded.reshape(B, H, rows // {r}, {r}, columns // {c}, {c})"
    for name, reduction in (("block", "any"), ("full", "all")):
        yield f"{name} = blocks.{reduction}(axis=(3, 5))"
        yield f"{name}_counts, {name}_indices = {name}.sum(axis=-1), np.argsort(~{name}, axis=-1, kind='stable')"

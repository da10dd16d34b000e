"""Masks as they are graded: equal or wrong, open behind the count, listed in two ways, and written out as a formula."""

from types import SimpleNamespace

import numpy as np
import pytest

from attnspec import validate
from attnspec.cases import load_suite
from attnspec.families.lookup import family_called
from attnspec_reference import attention_mask

FAMILY = family_called("masks")
CASES = {case.id: case for case in load_suite(select=["masks/*"]).cases.values()}
LISTS = {"block_counts", "block_indices", "full_counts", "full_indices"}


def run(change, select="masks/lists_*", **declared):
    """Validate the reference with its outputs changed."""

    def changed(**arguments):
        return change(attention_mask(**arguments)._asdict())

    adapter = SimpleNamespace(name="changed", attention_mask=changed, **declared)
    return validate(adapter, select=[select])


def failed(report):
    return [result.case.id for result in report.results if result.status != "pass"]


def behind(indices, counts):
    return np.arange(indices.shape[-1]) >= counts[..., np.newaxis]


def test_what_stands_behind_a_count_is_open():
    def with_other_indices(outputs):
        for kind in ("block", "full"):
            indices = outputs[f"{kind}_indices"]
            outputs[f"{kind}_indices"] = np.where(behind(indices, outputs[f"{kind}_counts"]), 99, indices)
        return outputs

    assert not failed(run(with_other_indices))


def test_what_counts_is_not():
    assert failed(run(lambda outputs: outputs | {"block_indices": outputs["block_indices"] + 1}))
    assert failed(run(lambda outputs: outputs | {"full_counts": outputs["full_counts"] + 1}))


def partial(outputs):
    """List partial blocks alone, as FlexAttention does."""
    attended, full = (np.zeros(outputs["block_indices"].shape, dtype=bool) for _ in range(2))
    for blocks, kind in ((attended, "block"), (full, "full")):
        indices = outputs[f"{kind}_indices"]
        np.put_along_axis(blocks, indices, ~behind(indices, outputs[f"{kind}_counts"]), axis=-1)
    alone = attended & ~full
    return outputs | {
        "block_counts": alone.sum(axis=-1),
        "block_indices": np.argsort(~alone, axis=-1, kind="stable"),
    }


def test_partial_blocks_alone_are_right_where_that_is_declared():
    assert failed(run(partial))
    assert not failed(run(partial, conventions={"listed_blocks": "partial"}))
    assert failed(run(lambda outputs: outputs, conventions={"listed_blocks": "partial"}))


def test_the_mask_alone_is_enough():
    report = run(lambda outputs: {"mask": outputs["mask"].astype(np.int8)}, "masks/*")
    assert not failed(report)


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.rejects is None], ids=lambda case: case.id)
def test_the_formula_computes_every_output(case):
    names = {name: np.array(array) for name, array in case.inputs.items()} | {"np": np}
    exec("\n".join(FAMILY.formula(case)), names)
    for name, golden in case.golden("any").items():
        given, expected = names[name], golden
        if name in ("block_indices", "full_indices"):
            counts = names[name.replace("indices", "counts")]
            given, expected = (np.where(behind(array, counts), -1, array) for array in (given, expected))
        assert np.array_equal(given, expected), name


@pytest.mark.parametrize(
    ("case_id", "phrases"),
    [
        (
            "masks/chunk_padding",
            {"chunks", "left padding", "causality", "more than one batch entry", "more than one rule"},
        ),
        ("masks/tree_past", {"a draft tree", "queries aligned bottom-right", "fewer queries than keys"}),
        ("masks/causal_offset_negative", {"a negative offset", "more queries than keys"}),
        ("masks/window_right_open", {"a window to the left"}),
        ("masks/blocks_heads", {"a table of blocks", "blocks of more than one head"}),
        ("masks/memory_parents_reversed", {"an input in another memory layout"}),
    ],
)
def test_a_case_has_what_it_is_about(case_id, phrases):
    assert phrases <= {phrase for phrase, has in FAMILY.features(CASES[case_id]) if has}

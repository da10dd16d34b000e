"""The masks of built-in adapters: every golden case that they take, and what they decline."""

import pytest

from attnspec import validate
from attnspec.targets import load

# Transformers imports parts of PyTorch that are on their way out.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")


def results(library):
    pytest.importorskip("torch")
    pytest.importorskip(library.partition("-")[0])
    return validate(load(library), select=["masks/*"]).results


@pytest.mark.parametrize(("library", "fewest"), [("torch-flex", 203), ("transformers", 109)])
def test_every_mask_that_is_taken_is_right(library, fewest):
    found = results(library)
    assert {result.status for result in found} == {"pass", "unsupported"}
    assert sum(result.status == "pass" for result in found) >= fewest


def test_transformers_has_no_trees_and_no_tables_of_blocks():
    declined = {result.case.id for result in results("transformers") if result.status == "unsupported"}
    assert {"masks/tree_past", "masks/blocks_even", "masks/starts_unequal", "masks/lengths_queries"} <= declined
    assert not {"masks/chunk_padding", "masks/documents_causal", "masks/starts_causal", "masks/window_left"} & declined

"""Shapes of norms, caches and masks: every draw has those that are stated, and shapes that do not fit are refused."""

import pytest

from attnspec.base.errors import UsageError
from attnspec.cases.tensor_json import shapes_of
from attnspec_draws import Recipe, drawn_of
from attnspec_draws.judge.shapes import limits_at, shapes_from

KEY = {"query": [2, 4, 5, 8], "key": [2, 2, 5, 8], "epsilon": 1e-6}
NEW = {"key": [2, 3, 4, 8], "value": [2, 3, 4, 6]}
WINDOW = {"key_cache": [2, 3, 16, 8], "value_cache": [2, 3, 16, 6], "past_lengths": [2], **NEW}
POOLS = {"key_pool": [9, 16, 3, 8], "value_pool": [9, 16, 3, 6], "key": [20, 3, 8], "value": [20, 3, 6]}

FITTING = [
    ("rms_norm", {"x": [3, 40], "weight": [40], "epsilon": 1e-6, "weight_offset": "one"}),
    ("rms_norm", {"x": [2, 3, 2, 40], "weight": [40], "epsilon": 0.0}),
    ("qk_norm", {**KEY, "query_weight": [8], "key_weight": [8], "cos": [2, 5, 3], "sin": [2, 5, 3]}),
    ("qk_norm", {**KEY, "query_weight": [32], "key_weight": [16], "normalized_over": "all_heads"}),
    ("append_cache", {"past_key": [2, 3, 9, 8], "past_value": [2, 3, 9, 6], **NEW}),
    ("scatter_cache", {"cache": [2, 16, 3, 8], "update": [2, 2, 3, 8], "axis": 1, "mode": "circular"}),
    ("scatter_cache", {"cache": [2, 3, 16, 8], "update": [2, 3, 4, 8], "write_indices": [2], "step_lengths": [3]}),
    ("write_slots", {**POOLS, "slot_mapping": [20]}),
    ("write_paged_cache", {**POOLS, "batch_indices": [20], "positions": [20], "page_indices": [9], "page_starts": [5]}),
    ("write_window", {**WINDOW, "keep": 4, "step_lengths": [2]}),
    ("attention_mask", {"query_length": 7, "key_length": 9, "is_causal": True, "window": [3, 0], "key_lengths": [2]}),
    ("attention_mask", {"query_length": 7, "query_documents": [2, 7], "key_documents": [2, 7]}),
]


def read(operation, entry):
    (shape,) = shapes_from({"operation": operation, "dtypes": ["float32"], "shapes": [entry]}, said_by="it")
    return shape


@pytest.mark.parametrize(("operation", "entry"), FITTING)
def test_every_draw_has_the_shapes_and_attributes_that_are_stated(operation, entry):
    shape = read(operation, entry)
    for number in range(8):
        drawn = drawn_of(Recipe(operation, "shapes", number, limits_at(shape, "float32")))
        assert {name: list(of) for name, of in shapes_of(drawn.inputs).items()} | drawn.attributes == entry


@pytest.mark.parametrize(
    ("operation", "entry", "said"),
    [
        ("rms_norm", {"x": [40], "weight": [40], "epsilon": 1.0}, "x has 1 axes, and not 2: tokens, width"),
        ("rms_norm", {"x": [3, 40], "weight": [39], "epsilon": 1.0}, r"weight has the shape \[39\]"),
        ("qk_norm", {**KEY, "query_weight": [8]}, "the shape of key_weight is missing"),
        ("append_cache", {"past_key": [2, 3, 9, 8], "past_value": [2, 3, 7, 6], **NEW}, "past_value has the shape"),
        ("scatter_cache", {"cache": [2, 3, 4, 8], "update": [2, 3, 5, 8]}, "update has 5 tokens, and cache room for 4"),
        (
            "write_slots",
            {**POOLS, "key": [200, 3, 8], "value": [200, 3, 6], "slot_mapping": [200]},
            "200 tokens are more than the pages",
        ),
        ("write_window", {**WINDOW, "keep": 16}, "keep is 16, and of 16 slots at least one"),
        ("attention_mask", {"key_length": 9}, "query_length and key_length say how many"),
        ("attention_mask", {"query_length": 7, "attended_blocks": [2, 2]}, "tables of blocks are not drawn"),
    ],
)
def test_shapes_that_do_not_fit_are_refused_in_a_sentence(operation, entry, said):
    with pytest.raises(UsageError, match=said):
        read(operation, entry)

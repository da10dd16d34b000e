"""Attention mask: the worked examples of its page, its relations to attention and to causal masks, and refusals."""

import numpy as np
import pytest

from attnspec_reference import attention_mask, causal_mask, scaled_dot_product_attention

DOCUMENTS = np.array([[7, 7, 3, 3]])
EXAMPLES = {
    "causal": ({}, "1000 1100 1110 1111"),
    "window": ({"window": [1, 0]}, "1000 1100 0110 0011"),
    "chunk": ({"chunk": 2}, "1000 1100 0010 0011"),
    "prefix": ({"prefix_lengths": np.array([2])}, "1100 1100 1110 1111"),
    "documents": ({"query_documents": DOCUMENTS, "key_documents": DOCUMENTS}, "1000 1100 0010 0011"),
}
TREE = {"query_length": 4, "key_length": 6, "causal_alignment": "bottom_right", "parents": np.array([[-1, 0, 0, 1]])}
LENGTHS = {"key_lengths": np.array([6, 4]), "query_lengths": np.array([3, 2])}


def rows(mask):
    return " ".join("".join(map(str, row)) for row in mask[0, 0].astype(int))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_worked_examples(name):
    rule, expected = EXAMPLES[name]
    assert rows(attention_mask(query_length=4, is_causal=True, **rule).mask) == expected


def test_the_worked_example_of_a_tree():
    assert rows(attention_mask(**TREE).mask) == "111000 111100 111010 111101"


def test_the_worked_example_of_blocks():
    given = attention_mask(query_length=4, is_causal=True, block_size=[2, 2])
    assert given.block_counts.tolist() == [[[1, 2]]]
    assert given.block_indices[0, 0, 0, 0] == 0
    assert given.block_indices[0, 0, 1].tolist() == [0, 1]
    assert given.full_counts.tolist() == [[[0, 1]]]
    assert given.full_indices[0, 0, 1, 0] == 0


def test_causality_alone_is_the_causal_mask():
    for offset in (-2, 0, 3):
        given = attention_mask(query_length=3, key_length=5, is_causal=True, offset=offset)
        assert np.array_equal(given.mask[0, 0], causal_mask(query_length=3, key_length=5, offset=offset))


@pytest.mark.parametrize(
    "rule",
    [
        {"is_causal": True},
        {"is_causal": True, "causal_alignment": "bottom_right"},
        {"window": [1, None]},
        {"window": [2, 1], "causal_alignment": "bottom_right"},
        {"is_causal": True, "causal_alignment": "bottom_right", **LENGTHS},
        {"window": [None, 0], **LENGTHS},
    ],
    ids=str,
)
def test_attention_with_the_mask_is_attention_with_the_attribute(rule):
    generator = np.random.default_rng(3)
    query, key, value = (generator.standard_normal((2, 1, tokens, 4)) for tokens in (3, 6, 6))
    mask = attention_mask(query_length=3, key_length=6, **rule).mask
    by_mask = scaled_dot_product_attention(query, key, value, mask=mask).output
    by_attribute = scaled_dot_product_attention(query, key, value, **rule).output
    # Of queries that do not count attention says nothing.
    counted = rule.get("query_lengths", np.array([3, 3]))
    for entry, queries in enumerate(counted):
        np.testing.assert_allclose(by_mask[entry, :, :queries], by_attribute[entry, :, :queries], rtol=1e-13)


def test_siblings_in_another_order_are_rows_and_columns_in_another_order():
    mask = attention_mask(query_length=5, parents=np.array([[-1, 0, 0, 1, 2]])).mask[0, 0]
    other = attention_mask(query_length=5, parents=np.array([[-1, 0, 0, 2, 1]])).mask[0, 0]
    order = [0, 2, 1, 3, 4]
    assert np.array_equal(other, mask[np.ix_(order, order)])


def test_a_mask_of_one_entry_is_that_of_the_entry_in_a_batch():
    parents = np.array([[-1, 0, 0], [-1, 0, 1]])
    together = attention_mask(query_length=3, parents=parents, key_lengths=np.array([3, 2])).mask
    for entry in range(2):
        alone = attention_mask(query_length=3, parents=parents[[entry]], key_lengths=np.array([[3], [2]][entry])).mask
        assert np.array_equal(together[[entry]], alone)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"chunk": 0}, "chunk is 0"),
        ({"window": [-1, 0]}, "sides must be at least 0"),
        ({"parents": np.array([[1, 0, -1]])}, "comes from itself"),
        ({"parents": np.array([[-1, 0, 3]])}, "must be a token of the tree"),
        ({"key_documents": np.array([[0, 0, 0]])}, "go together"),
        ({"query_starts": np.array([0, 3]), "key_starts": np.array([0, 3]), "offset": 1}, "begin anew"),
        ({"causal_alignment": "bottom_right", "offset": 1}, "leave it out"),
        ({"causal_alignment": "left"}, "must be 'top_left' or 'bottom_right'"),
        ({"attended_blocks": np.ones((2, 3), bool), "attended_block_size": [2, 2]}, "could not be broadcast"),
        ({"key_lengths": np.array([1, 2]), "left_padding": np.array([0, 0, 0])}, "shape mismatch"),
    ],
)
def test_what_does_not_fit_is_refused(rule, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(").replace(")", r"\)")):
        attention_mask(query_length=3, **rule)

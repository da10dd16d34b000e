"""QK-norm of the reference: each of its steps by another way, the order of both, and its refusals."""

import numpy as np
import pytest

from attnspec_reference import apply_rotary, qk_norm, rms_norm

WORDS = [{}, {"weight_offset": "one"}]


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def pair(heads=3, key_heads=2, *, pairs=None, all_heads=False):
    lengths = (heads * 4, key_heads * 4) if all_heads else (4, 4)
    given = {
        "query": draw(2, heads, 3, 4, seed=1),
        "key": draw(2, key_heads, 3, 4, seed=2),
        "query_weight": draw(lengths[0], seed=3),
        "key_weight": draw(lengths[1], seed=4),
        "epsilon": 0.125,
    }
    if pairs:
        given |= {"cos": draw(2, 3, pairs, seed=5), "sin": draw(2, 3, pairs, seed=6)}
    return given


@pytest.mark.parametrize("words", WORDS, ids=str)
def test_over_a_head_it_is_the_norm_of_each(words):
    given = pair()
    for name, output in zip(("query", "key"), qk_norm(**given, **words), strict=True):
        wanted = rms_norm(given[name], given[f"{name}_weight"], epsilon=0.125, **words)
        np.testing.assert_array_equal(output, wanted, strict=True)


@pytest.mark.parametrize("words", WORDS, ids=str)
def test_over_all_heads_it_is_the_norm_of_a_token_of_all_features(words):
    given = pair(all_heads=True)
    outputs = qk_norm(**given, **words, normalized_over="all_heads")
    for name, output in zip(("query", "key"), outputs, strict=True):
        x, weight = given[name], given[f"{name}_weight"]
        for entry, token in np.ndindex(2, 3):
            wanted = rms_norm(np.concatenate(x[entry, :, token]), weight, epsilon=0.125, **words)
            np.testing.assert_allclose(np.concatenate(output[entry, :, token]), wanted, rtol=1e-14)


@pytest.mark.parametrize("pairing", [{}, {"pairing": "half"}, {"pairing": "interleaved"}], ids=str)
@pytest.mark.parametrize("pairs", [1, 2])
@pytest.mark.parametrize("over", ["head", "all_heads"])
def test_it_is_rotated_after_it_was_normalized(pairing, pairs, over):
    given = pair(pairs=pairs, all_heads=over == "all_heads") | {"normalized_over": over}
    tables = given["cos"], given["sin"]
    plain = qk_norm(**{name: value for name, value in given.items() if name not in ("cos", "sin")})
    for output, normalized in zip(qk_norm(**given, **pairing), plain, strict=True):
        np.testing.assert_array_equal(output, apply_rotary(normalized, *tables, **pairing))


def test_the_order_shows_by_weights_and_by_nothing_else():
    given = pair(pairs=2)
    angles = draw(2, 3, 2, seed=7)
    given |= {"cos": np.cos(angles), "sin": np.sin(angles)}
    turned = {name: apply_rotary(given[name], given["cos"], given["sin"]) for name in ("query", "key")}
    first = {name: value for name, value in {**given, **turned}.items() if name not in ("cos", "sin")}
    ones = {"query_weight": np.ones(4), "key_weight": np.ones(4)}
    np.testing.assert_allclose(qk_norm(**{**given, **ones}).query_output, qk_norm(**{**first, **ones}).query_output)
    assert np.abs(qk_norm(**given).query_output - qk_norm(**first).query_output).max() > 0.1


def test_the_example_of_the_page():
    x, tables = np.array([[[[3.0, 4.0]]]]), (np.array([[[0.0]]]), np.array([[[1.0]]]))
    weights = np.array([2.0, 1.0]), np.ones(2)
    assert qk_norm(x, x, *weights, epsilon=3.5).query_output.ravel().tolist() == [1.5, 1.0]
    assert qk_norm(x, x, *weights, *tables, epsilon=3.5).query_output.ravel().tolist() == [-1.0, 1.5]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"query": np.ones((2, 3, 4))}, "rank 4"),
        ({"key": np.ones((2, 2, 3, 3))}, "number of heads alone"),
        ({"key": np.ones((1, 2, 3, 4))}, "number of heads alone"),
        ({"key_weight": np.ones(8)}, "4 features"),
        ({"normalized_over": "all_heads"}, "12 features"),
        ({"normalized_over": "heads"}, "'heads'"),
        ({"weight_offset": "two"}, "'two'"),
        ({"sin": None}, "neither is given"),
        ({"cos": np.ones((2, 3, 1))}, "the same one"),
        ({"cos": np.ones((2, 1, 2)), "sin": np.ones((2, 1, 2))}, "batch, tokens, pairs"),
        ({"cos": np.ones((2, 3, 3)), "sin": np.ones((2, 3, 3))}, "3 pairs"),
        ({"pairing": "neox"}, "'neox'"),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_what_does_not_fit_is_refused(changed, said):
    with pytest.raises(ValueError, match=said):
        qk_norm(**{**pair(pairs=2), **changed})

"""A mistake goes wrong where it must, by the numbers that it must, and is right everywhere else."""

import math

import numpy as np
import pytest

import attnspec_reference
from attnspec_mistakes import CATALOGUE
from attnspec_mistakes.patches import by_name

MISTAKES = {mistake.id: mistake for mistake in CATALOGUE}


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def outputs(identifier, **arguments):
    return by_name(MISTAKES[identifier].function(**arguments))


def matching(*clauses):
    return [mistake.id for mistake in CATALOGUE if mistake.clause in clauses]


def assert_right(identifier, **arguments):
    reference = by_name(getattr(attnspec_reference, MISTAKES[identifier].operation)(**arguments))
    for name, given in outputs(identifier, **arguments).items():
        np.testing.assert_allclose(given, reference[name], rtol=1e-12, atol=1e-12)


def attention(query_length=4, heads=2, shared=2, **more):
    return {
        "query": draw(2, heads, query_length, 3),
        "key": draw(2, shared, 4, 3, seed=1),
        "value": draw(2, shared, 4, 5, seed=2),
        **more,
    }


def multi_head(num_heads=2, **more):
    names = ("query", "key", "value", "w_query", "w_key", "w_value", "w_output")
    shapes = [(2, 3, 4)] * 3 + [(4, 4)] * 4
    tensors = {name: draw(*shape, seed=i) for i, (name, shape) in enumerate(zip(names, shapes, strict=True))}
    return {**tensors, "num_heads": num_heads, **more}


@pytest.mark.parametrize(
    "identifier",
    [
        *matching("sdpa.mask.additive", "sdpa.mask.boolean", "sdpa.mask.broadcast", "sdpa.fully_masked_row"),
        "sdpa.zeroed_after_softmax",
    ],
)
def test_without_a_mask_nothing_goes_wrong_in_masking(identifier):
    assert_right(identifier, **attention())


@pytest.mark.parametrize("identifier", matching("sdpa.causal.top_left", "sdpa.causal.bottom_right"))
def test_without_causality_nothing_goes_wrong_in_it(identifier):
    assert_right(identifier, **attention(query_length=2))


@pytest.mark.parametrize("identifier", ["sdpa.top_left_as_bottom_right", "sdpa.bottom_right_as_top_left"])
@pytest.mark.parametrize("causal_alignment", ["top_left", "bottom_right"])
def test_as_many_queries_as_keys_hide_a_wrong_alignment(identifier, causal_alignment):
    assert_right(identifier, **attention(is_causal=True, causal_alignment=causal_alignment))


@pytest.mark.parametrize("identifier", matching("sdpa.scale.default"))
def test_a_stated_scale_hides_a_wrong_default(identifier):
    assert_right(identifier, **attention(scale=0.3))


@pytest.mark.parametrize("identifier", matching("sdpa.scale.explicit"))
def test_the_default_scale_hides_a_wrong_stated_one(identifier):
    assert_right(identifier, **attention())


@pytest.mark.parametrize("identifier", matching("sdpa.heads.grouped"))
def test_a_single_shared_head_hides_a_wrong_order_of_heads(identifier):
    assert_right(identifier, **attention(heads=4, shared=1))


@pytest.mark.parametrize("identifier", ["sdpa.no_maximum", "sdpa.global_maximum"])
def test_gentle_scores_need_no_maximum_of_their_own(identifier):
    assert_right(identifier, **attention(is_causal=True))


@pytest.mark.parametrize("identifier", ["softmax.no_maximum", "softmax.global_maximum"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_gentle_numbers_need_no_maximum_of_their_own(identifier, axis):
    assert_right(identifier, x=draw(3, 4), axis=axis)


@pytest.mark.parametrize(
    "identifier", matching("multi_head.biases", "multi_head.mask", "multi_head.causal", "multi_head.scale.explicit")
)
def test_what_is_not_given_cannot_be_dropped(identifier):
    assert_right(identifier, **multi_head())


@pytest.mark.parametrize("identifier", matching("multi_head.split", "multi_head.combine"))
def test_one_head_needs_no_splitting(identifier):
    assert_right(identifier, **multi_head(num_heads=1))


def test_a_boolean_causal_mask_hides_what_numbers_it_would_hold():
    for identifier in matching("causal_mask.additive"):
        assert_right(identifier, query_length=3, key_length=5, offset=1)


@pytest.mark.parametrize(
    ("identifier", "arguments"),
    [
        ("softmax.maximum_axis_lost", {"x": draw(3, 4)}),
        ("sdpa.maximum_axis_lost", attention(query_length=3)),
        ("sdpa.query_and_key_swapped", attention(query_length=3)),
        ("sdpa.weights_transposed", attention(query_length=1)),
        ("sdpa.three_axes_as_batch", attention(heads=4, mask=np.ones((4, 4, 4), dtype=bool))),
        ("context_vector.weights_on_features", {"encoder_states": draw(3, 4), "decoder_state": draw(4)}),
        ("context_vector.score_of_every_feature", {"encoder_states": draw(3, 4), "decoder_state": draw(4)}),
        (
            "single_head.weight_matrices_transposed",
            {"x": draw(3, 4), "w_query": draw(4, 2), "w_key": draw(4, 2), "w_value": draw(4, 2)},
        ),
    ],
)
def test_a_mistake_that_the_shapes_do_not_allow_says_so(identifier, arguments):
    with pytest.raises(ValueError, match=r"shape|mismatch"):
        outputs(identifier, **arguments)


# By hand: a raw score of 4 against one of 0, so that the first weight is the sigmoid of the scaled score.


@pytest.mark.parametrize(
    ("identifier", "scaled"),
    [
        ("sdpa.scale_missing", 4.0),
        ("sdpa.scale_multiplied", 8.0),
        ("sdpa.scale_one_over_width", 1.0),
        ("sdpa.scale_from_all_heads", 4 / math.sqrt(8)),
        ("sdpa.scale_from_number_of_heads", 4 / math.sqrt(2)),
        ("sdpa.scale_from_value_width", 4 / math.sqrt(3)),
        ("sdpa.scale_from_number_of_keys", 4 / math.sqrt(2)),
    ],
)
def test_each_wrong_scale_gives_its_own_weight(identifier, scaled):
    query, key = np.zeros((1, 2, 1, 4)), np.zeros((1, 2, 2, 4))
    query[..., 0], key[..., 0, 0] = 2, 2
    weights = outputs(identifier, query=query, key=key, value=np.ones((1, 2, 2, 3)))["weights"]
    assert weights[0, 0, 0, 0] == pytest.approx(1 / (1 + math.exp(-scaled)), rel=1e-12)


def test_tiled_heads_alternate():
    value = np.array([10.0, 20.0]).reshape(1, 2, 1, 1)
    tiled = outputs("sdpa.heads_tiled", query=np.zeros((1, 6, 1, 1)), key=np.zeros((1, 2, 1, 1)), value=value)
    assert tiled["output"].ravel().tolist() == [10, 20, 10, 20, 10, 20]


def test_a_mask_added_before_the_scale_is_scaled():
    arguments = {"query": np.zeros((1, 1, 1, 4)), "key": np.zeros((1, 1, 2, 4)), "value": np.ones((1, 1, 2, 1))}
    logits = outputs("sdpa.mask_scaled_too", **arguments, mask=np.array([[0.5, -np.inf]]))["logits"]
    assert logits.tolist() == [[[[0.25, -np.inf]]]]


def test_weights_zeroed_after_the_softmax_no_longer_sum_to_one():
    arguments = {"query": np.zeros((1, 1, 1, 1)), "key": np.zeros((1, 1, 4, 1)), "value": np.ones((1, 1, 4, 1))}
    for mask in (np.array([[True, False, False, True]]), np.array([[0.0, -np.inf, -np.inf, 0.0]])):
        given = outputs("sdpa.zeroed_after_softmax", **arguments, mask=mask)
        assert given["weights"].ravel().tolist() == [0.25, 0, 0, 0.25]
        assert given["output"].ravel().tolist() == [0.5]


def test_a_subtracted_mask_leaves_nan_where_it_should_hide():
    arguments = attention(mask=np.where(np.tri(4) > 0, 0, -np.inf))
    output = outputs("sdpa.mask_subtracted", **arguments)["output"]
    assert np.isnan(output[:, :, :3]).all()
    assert np.isfinite(output[:, :, 3]).all()


# What the source documents computed.


def test_weights_on_features_give_the_context_vector_that_the_document_printed():
    states = np.array(
        [[0.64, -0.27, 0.89, -0.12], [-0.45, 0.33, 0.71, 0.08], [0.19, -0.94, 0.56, 0.37], [0.03, 0.85, -0.41, 0.76]]
    )
    given = outputs(
        "context_vector.weights_on_features", encoder_states=states, decoder_state=np.array([0.45, 0.11, -0.88, 0.67])
    )
    assert given["context"].round(8).tolist() == [0.07694035, -0.00526995, 0.38974566, 0.45122057]


def test_a_softmax_over_queries_is_the_one_of_the_document():
    x, *matrices = (draw(3, 4, seed=1), *(draw(4, 4, seed=i) for i in range(2, 6)))
    names = ("w_query", "w_key", "w_value", "w_output")
    given = outputs("single_head.softmax_over_queries", x=x, **dict(zip(names, matrices, strict=True)), scale=1.0)
    scores = (x @ matrices[0]) @ (x @ matrices[1]).T
    exponentials = np.exp(scores - np.max(scores))
    weights = exponentials / exponentials.sum(axis=0)
    np.testing.assert_allclose(given["weights"], weights, rtol=1e-12)
    np.testing.assert_allclose(given["output"], weights @ (x @ matrices[2]) @ matrices[3], rtol=1e-12)


def test_a_sum_over_the_weights_alone_leaves_each_token_its_own_value():
    x, *matrices = (draw(3, 4, seed=1), *(draw(4, 4, seed=i) for i in range(2, 6)))
    names = ("w_query", "w_key", "w_value", "w_output")
    arguments = dict(zip(names, matrices, strict=True))
    weights = attnspec_reference.single_head_attention(x, **arguments).weights
    by_einsum = np.einsum("nm,nd,dg->ng", weights, x, matrices[2] @ matrices[3])
    given = outputs("single_head.weights_summed_out", x=x, **arguments)
    np.testing.assert_allclose(given["output"], by_einsum, rtol=1e-12, atol=1e-12)


def test_a_lost_axis_subtracts_the_maximum_of_row_j_from_column_j():
    query, key, value = draw(1, 1, 4, 3), draw(1, 1, 4, 3, seed=1), draw(1, 1, 4, 2, seed=2)
    scores = query[0, 0] @ key[0, 0].T / math.sqrt(3)
    exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=False))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    given = outputs("sdpa.maximum_axis_lost", query=query, key=key, value=value)
    np.testing.assert_allclose(given["weights"][0, 0], weights, rtol=1e-12)


def test_an_inverted_causal_mask_shows_the_future_alone():
    given = outputs("causal_mask.inverted", query_length=2, additive=True)["output"]
    assert given.tolist() == [[-np.inf, 0], [-np.inf, -np.inf]]

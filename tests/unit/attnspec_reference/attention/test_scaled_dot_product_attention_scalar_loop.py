"""Scaled dot-product attention against a loop over single numbers, in random combinations of all features.

The loop shares nothing with the reference: no arrays, one query and one key at a time, sums by ``math.fsum``.
"""

import math

import numpy as np
import pytest

from attnspec_reference import scaled_dot_product_attention

OUTPUTS = ("output", "weights", "logsumexp", "scores", "logits")


def looped(query, key, value, mask=None, past_key=None, past_value=None, **given):
    """The outputs as nested lists, in the order of ``OUTPUTS``."""
    batch, heads, query_tokens, _ = query.shape
    past = 0 if past_key is None else past_key.shape[2]
    shared = heads // key.shape[1]
    results = {name: [] for name in OUTPUTS}
    for b in range(batch):
        for h in range(heads):
            keys = [*([] if past_key is None else past_key[b, h // shared].tolist()), *key[b, h // shared].tolist()]
            values = [
                *([] if past_value is None else past_value[b, h // shared].tolist()),
                *value[b, h // shared].tolist(),
            ]
            grid = (batch, heads, query_tokens, len(keys))
            whole_mask = None if mask is None else np.broadcast_to(mask, grid)[b, h].tolist()
            for i in range(query_tokens):
                row = one_query(
                    query[b, h, i].tolist(), keys, values, whole_mask and whole_mask[i], b, h, i, past, given
                )
                if i >= lengths(given, "query_lengths", b, query_tokens):
                    row = ([0.0] * value.shape[3], [0.0] * len(keys), -math.inf, row[3], [-math.inf] * len(keys))
                for name, result in zip(OUTPUTS, row, strict=True):
                    results[name].append(result)
    return results


def lengths(given, name, b, tokens):
    return tokens if given.get(name) is None else int(given[name][b])


def one_query(query, keys, values, mask, b, h, i, past, given):
    """Output, weights, logsumexp, scores and logits of a single query of a single head."""
    scale = given.get("scale")
    scale = len(query) ** -0.5 if scale is None else scale
    counted_keys = lengths(given, "key_lengths", b, len(keys))
    position = i + past
    if given.get("causal_alignment") == "bottom_right":
        position = i + counted_keys - lengths(given, "query_lengths", b, given["query_tokens"])
    left, right = given.get("window") or (None, None)
    scores, logits = [], []
    for j, key in enumerate(keys):
        score = scale * math.fsum(x * y for x, y in zip(query, key, strict=True))
        scores.append(score)
        logit = score
        if given.get("softcap"):
            logit = given["softcap"] * math.tanh(logit / given["softcap"])
        if given.get("alibi_slopes") is not None:
            logit -= float(given["alibi_slopes"][h]) * abs(position - j)
        attended = j < counted_keys
        if mask is not None and isinstance(mask[j], bool):
            attended = attended and mask[j]
        elif mask is not None:
            attended = attended and mask[j] > -math.inf
            logit += mask[j]
        if given.get("is_causal") and j > position:
            attended = False
        if (left is not None and position - j > left) or (right is not None and j - position > right):
            attended = False
        logits.append(logit if attended else -math.inf)
    terms = logits if given.get("sinks") is None else [*logits, float(given["sinks"][h])]
    top = max(terms, default=-math.inf)
    width = len(values[0]) if values else given["value_width"]
    if top == -math.inf:
        return [0.0] * width, [0.0] * len(keys), -math.inf, scores, logits
    total = math.fsum(math.exp(term - top) for term in terms)
    weights = [math.exp(logit - top) / total for logit in logits]
    output = [math.fsum(w * v[e] for w, v in zip(weights, values, strict=True)) for e in range(width)]
    return output, weights, top + math.log(total), scores, logits


def random_case(seed):
    """Inputs and attributes in which every feature is as often there as not."""
    generator = np.random.default_rng(seed)

    def coin():
        return generator.random() < 0.5

    def draw(*shape):
        return generator.normal(size=shape)

    batch, shared, group = (int(n) for n in generator.integers(1, 4, size=3))
    heads = shared * group
    queries, keys = (int(n) for n in generator.integers(0, 6, size=2))
    width, value_width = (int(n) for n in generator.integers(1, 4, size=2))
    past = int(generator.integers(0, 4)) if coin() else None
    every_key = keys + (past or 0)
    case = {
        "query": draw(batch, heads, queries, width) * 2,
        "key": draw(batch, shared, keys, width) * 2,
        "value": draw(batch, shared, keys, value_width),
        "is_causal": coin(),
        "causal_alignment": "bottom_right" if coin() else "top_left",
        "scale": [None, 0.0, -0.5, 0.75][generator.integers(4)],
        "softcap": [None, 0.0, 0.5, 3.0][generator.integers(4)],
        "window": [None, [None, 1], [2, None], [1, 1], (0, 2), [None, None]][generator.integers(6)],
    }
    if past is not None:
        case["past_key"], case["past_value"] = draw(batch, shared, past, width), draw(batch, shared, past, value_width)
    elif coin():
        case["key_lengths"] = generator.integers(0, keys + 1, size=batch)
    if past is None and coin():
        case["query_lengths"] = generator.integers(0, queries + 1, size=batch)
    if coin():
        case["sinks"] = draw(heads) * 3
    if coin():
        case["alibi_slopes"] = 2.0 ** -generator.integers(0, 6, size=heads)
    if coin():
        leading = [n if coin() else 1 for n in (batch, heads, queries)]
        shape = (*leading[generator.integers(0, 3) :], every_key)
        case["mask"] = generator.random(shape) < 0.6
        if coin():
            case["mask"] = np.where(case["mask"], draw(*shape), -np.inf)
    return case


@pytest.mark.parametrize("seed", range(240))
def test_agrees_with_the_loop(seed):
    case = random_case(seed)
    facts = {"query_tokens": case["query"].shape[2], "value_width": case["value"].shape[3]}
    expected = looped(**case, **facts)
    attention = scaled_dot_product_attention(**case)
    for name in OUTPUTS:
        array = getattr(attention, name)
        wanted = np.array(expected[name], dtype=float).reshape(array.shape)
        np.testing.assert_allclose(array, wanted, rtol=1e-12, atol=1e-13, err_msg=name)


def test_the_random_cases_hold_every_pair_of_features():
    seen = set()
    names = ("mask", "past_key", "key_lengths", "query_lengths", "sinks", "alibi_slopes", "softcap", "window")
    for seed in range(240):
        case = random_case(seed)
        present = [name for name in names if case.get(name) is not None] + ["is_causal"] * case["is_causal"]
        seen |= {(one, other) for one in present for other in present if one < other}
    apart = {("key_lengths", "past_key"), ("past_key", "query_lengths")}
    every = (*names, "is_causal")
    assert seen == {(one, other) for one in every for other in every if one < other} - apart

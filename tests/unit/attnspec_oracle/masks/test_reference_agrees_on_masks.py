"""The oracle, pair by pair, and the reference, array by array, read the page of masks alike."""

import numpy as np

from attnspec_oracle import evaluate
from attnspec_reference import attention_mask


def rules(generator, queries, keys):
    """Return inputs and attributes of a mask with some of the rules."""
    often, entries = generator.random(9) < 0.35, int(generator.integers(1, 4))
    attributes = {"query_length": queries, "key_length": keys, "block_size": generator.integers(1, 4, 2).tolist()}
    inputs = {}
    if generator.random() < 0.5:
        attributes["causal_alignment"] = "bottom_right"
    elif not often[0]:
        attributes["offset"] = int(generator.integers(-3, 4))
    attributes["is_causal"] = bool(generator.random() < 0.5)
    if often[1]:
        attributes["window"] = [None if side == 3 else side for side in generator.integers(0, 4, 2).tolist()]
    if often[2]:
        attributes["chunk"] = int(generator.integers(1, 4))
    if often[0]:
        for name, length in (("query_starts", queries), ("key_starts", keys)):
            inputs[name] = np.sort(generator.integers(0, length + 1, 4))
    else:
        lengths = {"key_lengths": keys, "left_padding": keys, "prefix_lengths": keys, "query_lengths": queries}
        for has, (name, most) in zip(often[3:7], lengths.items(), strict=True):
            if has:
                inputs[name] = generator.integers(0, most + 1, entries)
        if often[7]:
            inputs["query_documents"] = generator.integers(-1, 3, (entries, queries))
            inputs["key_documents"] = generator.integers(-1, 3, (entries, keys))
        if often[8]:
            inputs["parents"] = np.array([[int(generator.integers(-1, token)) for token in range(queries)]])
    if generator.random() < 0.3:
        size = generator.integers(1, 4, 2).tolist()
        attributes["attended_block_size"] = size
        blocks = [1 if generator.random() < 0.2 else -(-n // m) for n, m in zip((queries, keys), size, strict=True)]
        inputs["attended_blocks"] = generator.random((2, *blocks)) < 0.6
    return inputs, attributes


def test_on_rules_of_every_kind_together():
    generator = np.random.default_rng(11)
    for _ in range(250):
        inputs, attributes = rules(generator, int(generator.integers(1, 7)), int(generator.integers(1, 8)))
        given = attention_mask(**inputs, **attributes)._asdict()
        for name, expected in evaluate("attention_mask", inputs, attributes).items():
            assert np.array_equal(given[name], expected), (name, inputs, attributes)

"""Inputs on which mistakes of backward passes show."""

import numpy as np

import attnspec_reference


def draw(*shape, seed=0):
    """Numbers with few digits, so that they are exact in float16, too."""
    return np.round(np.random.default_rng(seed).standard_normal(shape) * 16) / 16


def boolean(*shape, seed=7):
    """A Boolean mask that lets every query attend to the second key."""
    mask = draw(*shape, seed=seed) > 0
    mask[..., 1] = True
    return mask


def additive(*shape, seed=8):
    """Finite numbers, and minus infinity for the last key of the first query."""
    mask = draw(*shape, seed=seed)
    mask[..., 0, -1] = -np.inf
    return mask


def backward(query=(2, 4, 3, 3), key=(2, 2, 5, 3), value=(2, 2, 5, 2), **more):
    return {
        "grad_output": draw(*query[:3], value[-1], seed=4),
        "query": draw(*query, seed=1),
        "key": draw(*key, seed=2),
        "value": draw(*value, seed=3),
        **more,
    }


def stored(**arguments):
    """The same with output and logsumexp of the forward pass."""
    given = {name: value for name, value in arguments.items() if name not in ("grad_output", "grad_logsumexp")}
    attention = attnspec_reference.scaled_dot_product_attention(**given)
    return {**arguments, "output": attention.output, "logsumexp": attention.logsumexp}


GRAD_LOGSUMEXP = draw(2, 4, 3, seed=5)
SQUARE = {"query": (1, 1, 4, 3), "key": (1, 1, 4, 3), "value": (1, 1, 4, 2)}
WIDE = {"value": (2, 2, 5, 5)}
LONG = {"query": (1, 1, 18, 2), "key": (1, 1, 19, 2), "value": (1, 1, 19, 2)}
BORDERS = {"query": (1, 1, 64, 1), "key": (1, 1, 66, 1), "value": (1, 1, 66, 1)}
GROUPS_OF_THREE = {"query": (2, 6, 3, 3)}
GROUPS_OF_FOUR = {"query": (2, 8, 3, 3)}
FIRST_KEY_FOR_THE_LAST = (np.arange(19) > 0) | (np.arange(18)[:, None] > 15)
LENGTHS = {"key_lengths": np.array([3, 2]), "query_lengths": np.array([3, 1])}
SINKS = np.array([0.5, -1.0, 3.0, 1.5])
SLOPES = np.array([0.5, 0.25, 1.0, 0.375])
HIDES_THE_LAST = np.array([[True] * 4 + [False]] * 3)
WITHOUT_KEYS = np.array([[True] * 5, [False] * 5, [True, False] * 2 + [True]])
KEY, VALUE = draw(2, 2, 5, 3, seed=2), draw(2, 2, 5, 2, seed=3)
KEY[..., -1, :] = VALUE[..., -1, :] = np.nan
UNANSWERED = draw(2, 4, 3, 2, seed=4)
UNANSWERED[1, :, 1:] = np.nan
LARGE = {
    "grad_output": np.array([[[[1.0], [2.0]]]]),
    "query": np.array([[[[1000.0], [-1000.0]]]]),
    "key": np.array([[[[20.0], [20.0009765625]]]]),
    "value": np.array([[[[1.0], [2.0]]]]),
}

PROBES = (
    backward(),
    backward(**SQUARE),
    backward(**WIDE, mask=additive(2, 4, 3, 5), sinks=SINKS, grad_logsumexp=GRAD_LOGSUMEXP, softcap=1.5, scale=0.3125),
    backward(scale=-0.5, grad_logsumexp=GRAD_LOGSUMEXP),
    backward(scale=0.0),
    backward(**GROUPS_OF_THREE, mask=boolean(2, 6, 3, 5)),
    backward(mask=draw(1, 4, 1, 5)),
    backward(mask=draw(1, 5), softcap=0.75, grad_logsumexp=GRAD_LOGSUMEXP),
    backward(mask=WITHOUT_KEYS),
    backward(mask=WITHOUT_KEYS, sinks=SINKS, grad_logsumexp=GRAD_LOGSUMEXP),
    backward(is_causal=True),
    backward(is_causal=True, causal_alignment="bottom_right"),
    backward(window=[1, 0]),
    backward(window=[0, 2], is_causal=True, causal_alignment="bottom_right"),
    backward(window=[None, 1], alibi_slopes=SLOPES),
    backward(alibi_slopes=SLOPES, softcap=2.0, causal_alignment="bottom_right"),
    backward(**LENGTHS, is_causal=True, causal_alignment="bottom_right"),
    backward(**LENGTHS, sinks=SINKS, grad_logsumexp=GRAD_LOGSUMEXP),
    backward(**GROUPS_OF_FOUR),
    backward(**LONG, mask=FIRST_KEY_FOR_THE_LAST),
    backward(softcap=0.0),
    backward(**LONG, is_causal=True),
    backward(key=(2, 2, 0, 3), value=(2, 2, 0, 2)),
    backward(query=(2, 4, 0, 3)),
    stored(**backward(**WIDE)),
    stored(**backward(value=(2, 2, 5, 1))),
    stored(**backward(mask=WITHOUT_KEYS)),
    stored(**backward(value=(2, 2, 5, 3), scale=0.75, sinks=SINKS, mask=additive(3, 5))),
    {**backward(mask=HIDES_THE_LAST), "key": KEY},
    {**backward(mask=HIDES_THE_LAST), "value": VALUE},
    {**backward(), "value": VALUE},
    {**backward(**LENGTHS), "grad_output": UNANSWERED},
    LARGE,
    stored(**LARGE),
    *(backward(mask=draw(3, 5) - low) for low in (2.0**10, 2.0**14, 2.0**17, 2.0**20)),
    {**LARGE, "softcap": 2.0},
    backward(sinks=SINKS + 1000.0, grad_logsumexp=GRAD_LOGSUMEXP),
    backward(**BORDERS, window=[1, 0], causal_alignment="bottom_right"),
)

"""The law that a wrong attention follows is measured, with its number; a right one has none."""

from dataclasses import replace

import numpy as np
import pytest
from drawn.attention import Steps, attention, cap, normalise, position, scale, within

from attnspec.cases import load_suite
from attnspec.runner import run_suite
from attnspec.targets import load
from attnspec_probes import measured

OPERATION = "scaled_dot_product_attention"
PROFILES = ("core", "causal", "masking", "window", "softcap", "alibi", "sinks", "cache", "varlen")


def results_of(function, *, profiles=PROFILES, dtype="float64"):
    suite = load_suite(profiles=profiles)
    own = {name: case for name, case in suite.cases.items() if case.operation == OPERATION}
    implementation = load(function, bare_operation=OPERATION)
    return implementation, run_suite(replace(suite, cases=own), implementation, dtypes=[dtype])


def law_of(function, **selected):
    """Return the law of a function."""
    (law,) = measured(*results_of(function, **selected)).laws
    return law


def of_steps(**steps):
    return attention(Steps(**steps), ("output",))


def with_normalise(of_total):
    return of_steps(normalise=lambda logits, sink: normalise(logits, sink, of_total))


def filled(logits, allowed):
    """Excluded keys get a number, and keep their share."""
    return np.where(allowed, logits, -7.25), np.ones_like(allowed)


def whole_tiles(logits, sink):
    """The keys of a last tile of 6 that is not full are lost."""
    keys = logits.shape[-1]
    return normalise(np.where(np.arange(keys) < keys // 6 * 6, logits, -np.inf), sink)


def wider(call, positions, keys):
    left, right = call.window
    return within(
        replace(call, window=tuple(None if side is None else side + 2 for side in (left, right))), positions, keys
    )


LAWS = {
    "one over the width": (
        of_steps(scale=lambda call: 1 / call.query.shape[-1] if call.scale is None else call.scale),
        "scale",
        {"power": -1.0, "constant": 1.0},
        "sdpa.scale.default",
    ),
    "another width": (
        of_steps(scale=lambda call: (call.query.shape[-1] + 2.5) ** -0.5 if call.scale is None else call.scale),
        "scale",
        {"added_to_width": 2.5},
        "sdpa.scale.default",
    ),
    "a scale that is multiplied": (
        of_steps(scale=lambda call: scale(call) * (1 if call.scale is None else 1.31)),
        "scale",
        {"constant": 1.31},
        "sdpa.scale.explicit",
    ),
    "another base": (of_steps(scale=lambda call: 0.8 * scale(call)), "base", {"ratio": 0.8}, "sdpa.weights"),
    "a wider cap": (
        of_steps(cap=lambda call, scores: cap(replace(call, softcap=1.7 * call.softcap), scores)),
        "cap",
        {"cap_factor": 1.7},
        "sdpa.softcap.definition",
    ),
    "half of the mask": (
        of_steps(add_mask=lambda call, logits: logits + np.where(np.isinf(call.bias), call.bias, call.bias / 2)),
        "mask",
        {"mask_factor": 0.5},
        "sdpa.mask.additive",
    ),
    "other key heads": (
        of_steps(key_head=lambda heads, shared: np.arange(heads) % shared),
        "head map",
        {"of": "keys", "rule": "h % Hkv"},
        "sdpa.heads.grouped",
    ),
    "queries one position late": (
        of_steps(position=lambda call: position(call) + 1),
        "offset",
        {"offset": 1.0},
        "sdpa.causal.top_left",
    ),
    "a wider window": (of_steps(within=wider), "window", {"offset": 2.0}, "sdpa.window.left"),
    "a share of excluded keys": (of_steps(exclude=filled), "fill", {"fill": -7.25}, None),
    "a mass beside the largest": (
        with_normalise(lambda total: total + 0.37),
        "added mass",
        {"mass": 0.37},
        "sdpa.weights",
    ),
    "a last tile that is lost": (of_steps(normalise=whole_tiles), "tile", {"tile": 6.0}, "sdpa.softmax.keys"),
    "weights of eleven bits": (
        of_steps(
            normalise=lambda logits, sink: (normalise(logits, sink)[0].astype(np.float16) * 1.0, 0 * logits[..., :1])
        ),
        "rounding",
        {"bits": 11.0, "step": "weights"},
        "sdpa.precision.accumulation",
    ),
}


@pytest.mark.parametrize(("function", "kind", "parameters", "clause"), LAWS.values(), ids=LAWS)
def test_a_law_is_measured_with_its_number(function, kind, parameters, clause):
    law = law_of(function)
    assert law.kind == kind
    for name, value in parameters.items():
        assert law.parameters[name] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-6))
    assert clause in (None, *law.clauses)


def test_a_right_one_is_not_called_again():
    implementation, results = results_of(of_steps(), profiles=("core",))
    found = measured(implementation, results)
    assert (found.laws, found.calls) == ((), 0)


def test_what_follows_earlier_calls_is_separate_from_what_is_computed():
    kept = {}

    def remembers(query, key, value, mask=None):
        output = of_steps()(query, key, value, mask=mask)["output"]
        return kept.setdefault((query.shape, key.shape, value.shape, mask is None), output)

    law = law_of(remembers, profiles=("core", "masking"))
    assert (law.kind, law.clauses) == ("earlier calls", ("sdpa.repeatable",))


def test_what_depends_on_memory_is_separate_from_what_is_computed():
    def reads_memory(query, key, value):
        swapped = not query.flags.c_contiguous
        return of_steps()(query[::, ::, ::-1] if swapped else query, key, value)["output"]

    law = law_of(reads_memory, profiles=("core", "memory"))
    assert (law.kind, law.clauses) == ("memory layout", ("sdpa.memory_layout",))


def test_what_fails_beside_large_logits_alone_is_reported_so():
    def overflows(query, key, value, mask=None):
        exact = of_steps()(query, key, value, mask=mask)["output"]
        return exact * (1 if np.abs(query).max(initial=0) * np.abs(key).max(initial=0) < 1e3 else 0.5)

    law = law_of(overflows, profiles=("core", "stress"))
    assert law.kind == "large logits"
    assert "sdpa.softmax.stability" in law.clauses


def test_where_no_law_is_known_the_arguments_show_the_clauses():
    def odd(query, key, value, sinks=None):
        output = of_steps()(query, key, value, sinks=sinks)["output"]
        return output if sinks is None else output * np.cos(output)

    law = law_of(odd, profiles=("core", "sinks"))
    assert law.kind == "arguments"
    assert not law.is_found
    assert "sdpa.sinks.denominator" in law.clauses


def test_rows_without_keys_are_separated():
    with_weights = attention(Steps(), ("output", "weights"))

    def fills(query, key, value, mask=None):
        right = with_weights(query, key, value, mask=mask)
        return right["output"] + ~right["weights"].any(axis=-1, keepdims=True)

    law = law_of(fills, profiles=("core", "masking"))
    assert law.clauses == ("sdpa.fully_masked_row",)

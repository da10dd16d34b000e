"""The first sentence about a layer names the mistake: one step of a layer goes wrong at a time, in three styles.

`Separate` has four matrices and takes a mask, `Fused` one for three and causality built in, `Listed` takes a list of
tensors, and a mask of 1 where a key is hidden.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import attnspec

PATH = Path(__file__).parents[2] / "examples" / "layers" / "in_steps.py"


def module():
    specification = importlib.util.spec_from_file_location("layers_in_steps", PATH)
    found = sys.modules["layers_in_steps"] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(found)
    return found


STEPS = module()
Separate, Fused, Listed = STEPS.Separate, STEPS.Fused, STEPS.Listed


def seen(layer, allowed):
    return allowed == (0 if isinstance(layer, Listed) else 1)


def hidden_at(number):
    return {
        "masked": lambda self, scores, allowed: (
            scores if allowed is None else np.where(seen(self, allowed), scores, number)
        )
    }


def multiplied(self, scores, allowed):
    return scores if allowed is None else scores * seen(self, allowed)


def after_the_softmax(self, weights, allowed):
    return weights if allowed is None else np.where(seen(self, allowed), weights, 0)


def with_mask(change):
    def masked(self, scores, allowed):
        return scores if allowed is None else np.where(change(seen(self, allowed), scores), scores, self.fill)

    return {"masked": masked}


def tiled(mask, scores):
    entries, heads = scores.shape[:2]
    if mask.ndim != 4 or mask.shape[:2] != (entries, 1) or entries == 1:
        return mask
    return np.tile(mask[:, 0], (heads, 1, 1)).reshape(entries, heads, *mask.shape[2:])


def scaled(formula):
    return {"scale": lambda self, q, k: formula(q.shape[-1], self.heads, k.shape[-2])}


def triangle(make, **more):
    return {"triangle": staticmethod(make), **more}


def over(axis):
    def softmax(self, scores):
        exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
        return exponentials / exponentials.sum(axis=axis, keepdims=True)

    return {"softmax": softmax}


def by(*names):
    """Project query, key and value by the matrices and biases of these, in a layer of each style."""

    def projected(self, *tokens):
        if isinstance(self, Fused):
            parts = dict(zip("qkv", np.split(tokens[0] @ self.w_qkv + self.b_qkv, 3, axis=-1), strict=True))
            return tuple(parts[name] for name in names)
        if isinstance(self, Listed):
            return tuple(self.dense(name, x) for name, x in zip(names, tokens, strict=True))
        matrices, biases = ({name: getattr(self, f"{kind}_{name}") for name in names} for kind in ("W", "b"))
        return tuple(tokens[0] @ matrices[name] + biases[name] for name in names)

    return {"projected": projected}


def without_biases(self, x):
    return np.split(x @ self.w_qkv, 3, axis=-1)


def split_directly(self, x):
    batch, tokens, width = x.shape
    return x.reshape(batch, self.heads, tokens, width // self.heads)


def joined_directly(self, heads):
    return heads.reshape(heads.shape[0], heads.shape[2], -1)


def joined_alternating(self, heads):
    batch, _, tokens, _ = heads.shape
    return heads.transpose(0, 2, 3, 1).reshape(batch, tokens, -1)


def unfolded_otherwise(self, heads):
    batch, count, tokens, width = heads.shape
    return heads.reshape(count, batch, tokens, width).transpose(1, 2, 0, 3).reshape(batch, tokens, count * width)


def across_heads(self, q, k, v, allowed):
    q, k, v = (x.reshape(*x.shape[:2], self.heads, -1) for x in (q, k, v))
    weights = self.softmax(q @ k.swapaxes(-1, -2) * np.asarray(self.scale(q, k), q.dtype))
    return (weights @ v).reshape(*q.shape[:2], -1), weights


TABLE = [
    ("scores_of_hidden_keys_kept", Separate, hidden_at(0.0)),
    ("scores_of_hidden_keys_kept", Listed, hidden_at(1e-9)),
    ("scores_of_hidden_keys_kept", Listed, {"fill": -10.0}),
    ("scores_of_hidden_keys_kept", Separate, {"masked": multiplied}),
    ("scores_of_later_keys_kept", Fused, hidden_at(0.0)),
    ("scores_of_later_keys_kept", Fused, hidden_at(-1.0)),
    ("scores_of_later_keys_raised", Fused, hidden_at(1e9)),
    ("scores_of_later_keys_kept", Fused, {"masked": lambda self, scores, allowed: scores + allowed}),
    ("zeroed_after_softmax", Fused, {"masked": lambda self, scores, _: scores, "dropped": after_the_softmax}),
    ("zeroed_after_softmax", Separate, {"masked": lambda self, scores, _: scores, "dropped": after_the_softmax}),
    ("causal_strict", Fused, triangle(lambda ones: np.tril(ones, -1))),
    ("causal_one_ahead", Fused, triangle(lambda ones: np.tril(ones, 1))),
    ("causal_further_ahead", Fused, triangle(lambda ones: np.tril(ones, 2))),
    ("causal_from_own_position", Fused, triangle(np.triu)),
    ("causal_inverted", Fused, triangle(lambda ones: np.triu(ones, 1))),
    ("causal_inverted", Fused, triangle(lambda ones: np.triu(ones, 1), fill=-1e9)),
    ("causal_ignored", Fused, {"masked": lambda self, scores, _: scores}),
    ("mask_ignored", Separate, {"masked": lambda self, scores, _: scores}),
    ("mask_transposed", Separate, with_mask(lambda mask, _: mask.swapaxes(-1, -2))),
    ("mask_of_first_batch_entry", Separate, with_mask(lambda mask, _: mask[:1])),
    ("masks_of_other_entries", Separate, with_mask(tiled)),
    (
        "padding_mask_over_queries",
        Separate,
        with_mask(lambda mask, _: mask.swapaxes(-1, -2) if mask.shape[-2] == 1 else mask),
    ),
    ("key_projection_for_values", Separate, by("q", "k", "k")),
    ("key_projection_for_values", Listed, by("q", "k", "k")),
    ("value_projection_for_keys", Fused, by("q", "v", "v")),
    ("query_projection_for_keys", Listed, by("q", "q", "v")),
    ("key_projection_for_queries", Separate, by("k", "k", "v")),
    ("one_projection_for_all", Separate, by("q", "q", "q")),
    ("input_biases_dropped", Fused, {"projected": without_biases}),
    ("query_and_key_swapped", Fused, {"scores": lambda self, q, k: k @ q.swapaxes(-1, -2)}),
    ("weights_transposed", Separate, {"weigh": lambda self, weights, v: weights.swapaxes(-1, -2) @ v}),
    ("softmax_over_queries", Fused, over(-2)),
    ("softmax_over_heads", Separate, over(1)),
    ("softmax_over_batch", Separate, over(0)),
    ("scale_from_model_width", Fused, scaled(lambda width, heads, _: (width * heads) ** -0.5)),
    ("scale_from_number_of_heads", Separate, scaled(lambda _width, heads, _keys: heads**-0.5)),
    ("scale_missing", Fused, scaled(lambda *_: 1.0)),
    ("scale_one_over_width", Fused, scaled(lambda width, *_: 1 / width)),
    ("scale_multiplied", Fused, scaled(lambda width, *_: width**0.5)),
    ("scale_from_number_of_tokens", Separate, scaled(lambda _width, _heads, keys: keys**-0.5)),
    ("split_not_transposed", Fused, {"split": split_directly}),
    ("combine_not_transposed", Separate, {"join": joined_directly}),
    ("combine_interleaved", Fused, {"join": joined_alternating}),
    ("entries_and_heads_mixed", Fused, {"join": unfolded_otherwise}),
    ("attends_across_heads", Fused, {"attend": across_heads}),
    ("heads_not_split", Separate, {"split": lambda self, x: x[:, np.newaxis]}),
    ("key_reshaped", Fused, {"scores": lambda self, q, k: q @ k.reshape(*k.shape[:2], k.shape[3], k.shape[2])}),
    ("output_projection_missing", Fused, {"out": lambda self, x: x}),
    ("output_projected_twice", Separate, {"out": lambda self, x: Separate.out(self, Separate.out(self, x))}),
    ("output_bias_dropped", Fused, {"out": lambda self, x: x @ self.w_proj}),
]


def report_of(style, steps):
    layer = type(style.__name__, (style,), {**steps, "__module__": STEPS.__name__})
    return attnspec.validate(layer, dtypes="float64", probes=False, select="self_attention/*")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("style", [Separate, Fused, Listed], ids=lambda style: style.__name__)
def test_a_right_layer_of_each_style_is_right(style):
    report = report_of(style, {})
    assert report.conforms
    assert report.summary.counts["pass"] >= 9


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("mistake", "style", "steps"), TABLE, ids=[f"{mistake}-{style.__name__}" for mistake, style, _ in TABLE]
)
def test_the_first_sentence_names_the_mistake(mistake, style, steps):
    first = report_of(style, steps).diagnosis[0]
    assert (first.mistake, first.certainty) == (f"multi_head.{mistake}", "it is")

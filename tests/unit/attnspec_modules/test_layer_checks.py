"""Checks of a layer by itself: what no case can express is wrong, named, and stands in a baseline."""

from pathlib import Path
from types import ModuleType

import pytest

import attnspec

SOURCE = Path(__file__).parents[2] / "examples" / "layers" / "rotary_of_numpy.py"

MISTAKES = {
    # Piece of the source, what replaces it, the check that fails, and a piece of what is said.
    "no rotation": ("q, k = apply_rotary(q, cos, sin), apply_rotary(k, cos, sin)", "pass", "rotary", "have no effect"),
    "keys alone": ("q, k = apply_rotary(q, cos, sin), apply", "k = apply", "rotary", "queries are not rotated"),
    "queries alone": (", apply_rotary(k, cos, sin)", ", k", "rotary", "keys are not rotated"),
    "values, too": (
        "        if past",
        "        v = apply_rotary(v, cos, sin)\n        if past",
        "rotary",
        "values are",
    ),
    "neighbours": (
        "first, second = np.split(x, 2, axis=-1)\n    return np.concatenate([-second, first], axis=-1)",
        "return np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)",
        "rotary",
        "paired as neighbours",
    ),
    "no minus": ("[-second, first]", "[second, first]", "rotary", "lacks the minus sign"),
    "backwards": ("[-second, first]", "[second, -first]", "rotary", "backwards"),
    "base": ("theta=10000.0", "theta=1000.0", "rotary", "the base of the frequencies is 1000"),
    "exponent": ("np.arange(0, width, 2) / width", "np.arange(width // 2) / width", "rotary", "lacks its factor 2"),
    "over heads": (
        "apply_rotary(q, cos, sin), apply_rotary(k, cos, sin)",
        "(apply_rotary(each, *(table[:, None] for table in tables(np.arange(each.shape[1]), self.width)))"
        " for each in (q, k))",
        "rotary",
        "positions are counted over the heads",
    ),
    "tiled": (
        "np.repeat(each, self.num_heads // self.num_kv_heads, axis=1)",
        "np.tile(each, (1, self.num_heads // self.num_kv_heads, 1, 1))",
        "grouped_heads",
        "are tiled",
    ),
    "values tiled": (
        "k, v = (np.repeat(each, self.num_heads // self.num_kv_heads, axis=1) for each in (k, v))",
        "k = np.repeat(k, self.num_heads // self.num_kv_heads, axis=1)\n"
        "        v = np.tile(v, (1, self.num_heads // self.num_kv_heads, 1, 1))",
        "grouped_heads",
        "the heads of values alone are tiled",
    ),
    "positions of the call": ("np.arange(start, start + tokens)", "np.arange(tokens)", "cache", "count from 0 in each"),
    "top left": ("bool), start)", "bool))", "cache", "top left"),
    "mask left out": (
        "scores = np.where(seen,",
        "scores = np.where(seen | (past is not None),",
        "cache",
        "the causal mask is left out",
    ),
    "overwritten": ("present = (k, v)", "present = (k[:, :, start:], v[:, :, start:])", "cache", "are not appended"),
    "never appended": ("present = (k, v)", "present = past or (k, v)", "cache", "of the first call and its own"),
    "before": ("np.concatenate([past[1], v]", "np.concatenate([v, past[1]]", "cache", "values come before"),
    "kept unrotated": (
        "q, k = apply_rotary(q, cos, sin), apply_rotary(k, cos, sin)",
        "plain, q, k = k, apply_rotary(q, cos, sin), apply_rotary(k, cos, sin)\n"
        "        plain = plain if past is None else np.concatenate([past[0], plain], axis=2)",
        "cache",
        "kept before they are rotated",
    ),
}
REPLACED = {"kept unrotated": ("present = (k, v)", "present = (plain, v)")}


def layer(*replaced):
    """The layer of the example, with pieces of its source replaced."""
    source = SOURCE.read_text(encoding="utf-8")
    for old, new in replaced:
        assert old in source
        source = source.replace(old, new)
    module = ModuleType("changed_layer")
    exec(compile(source, SOURCE.name, "exec"), vars(module))
    return module.GroupedAttention


def validated(found):
    return attnspec.validate(found, dtypes="float64", probes=False, select="self_attention/multi_head_causal")


def test_a_right_layer_is_right_by_itself():
    report = validated(layer())
    assert report.conforms
    assert {check.name: check.message for check in report.declaration.layer_checks} == {
        "grouped_heads": "",
        "rotary": "",
        "cache": "",
    }
    assert "rotates queries and keys: half pairing, base 10000" in report.declaration.guessed
    assert "grouped heads right, rotary right, cache right" in report.declaration.guessed


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_killed_and_named(mistake):
    old, new, check, said = MISTAKES[mistake]
    pieces = [(old, new), *([REPLACED[mistake]] if mistake in REPLACED else [])]
    report = validated(layer(*pieces))
    (wrong,) = (result for result in report.wrong)
    assert (wrong.case.id, wrong.clauses) == (
        f"layer/multi_head_attention/{check}",
        (f"multi_head.layer.{check}",),
    )
    assert said in wrong.verdict.message
    assert [entry.clause for entry in report.diagnosis] == [f"multi_head.layer.{check}"]


def test_neighbours_are_read_as_neighbours():
    pieces = [
        ("np.concatenate([angles, angles], axis=-1)", "np.repeat(angles, 2, axis=-1)"),
        MISTAKES["neighbours"][:2],
    ]
    report = validated(layer(*pieces))
    assert report.conforms
    assert "interleaved pairing" in report.declaration.guessed


PLAIN = """

class PlainAttention(GroupedAttention):
    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = (
            (x @ w).reshape(batch, tokens, self.num_heads, self.width).transpose(0, 2, 1, 3)
            for w in (self.w_q, self.w_k, self.w_v)
        )
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(self.width).astype(x.dtype)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ self.w_o


class Unused:
    def __call__(self, x):
        return x
"""


def test_a_function_for_another_layer_is_no_rotation_that_is_left_out():
    source = SOURCE.read_text(encoding="utf-8").replace(MISTAKES["no rotation"][0], "pass")
    module = ModuleType("changed_layer")
    exec(compile(source + PLAIN, SOURCE.name, "exec"), vars(module))
    checks = attnspec.validate(module.PlainAttention, dtypes="float64", probes=False).declaration.layer_checks
    assert "rotary" not in {check.name for check in checks}


def test_a_base_of_the_constructor_is_heeded():
    made = ("num_kv_heads):\n        self.num_heads", "num_kv_heads, rope_theta=10000.0):\n        self.num_heads")
    kept = ("        self.w_q =", "        self.theta = rope_theta\n        self.w_q =")
    used = ("start + tokens), self.width)", "start + tokens), self.width, self.theta)")
    assert validated(layer(made, kept, used)).conforms
    (wrong,) = validated(layer(made, kept)).wrong
    assert "is not heeded" in wrong.verdict.message

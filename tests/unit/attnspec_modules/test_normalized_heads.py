"""Norms of queries and keys inside a layer: right ones pass beside the cases, and mistakes are named."""

from pathlib import Path
from types import ModuleType

import pytest

import attnspec
from attnspec.base.errors import TargetError
from attnspec_modules.attention.adapting import found_layer

SOURCE = Path(__file__).parents[2] / "examples" / "layers" / "normalized_heads.py"

QUERY = (
    "q = self.q_norm(heads(self.q_proj(hidden_states))).transpose(1, 2)",
    "q = heads(self.q_proj(hidden_states)).transpose(1, 2)",
)
KEY = (
    "k = self.k_norm(heads(self.k_proj(hidden_states))).transpose(1, 2)",
    "k = heads(self.k_proj(hidden_states)).transpose(1, 2)",
)
ROTATED = "q, k = self.apply_rope(q), self.apply_rope(k)"
OVER_ALL = (
    ("RMSNorm(self.head_dim)\n        self.k_norm", "RMSNorm(hidden_size)\n        self.k_norm"),
    ("self.k_norm = RMSNorm(self.head_dim)", "self.k_norm = RMSNorm(self.n_kv * self.head_dim)"),
    (QUERY[0], "q = heads(self.q_norm(self.q_proj(hidden_states))).transpose(1, 2)"),
    (KEY[0], "k = heads(self.k_norm(self.k_proj(hidden_states))).transpose(1, 2)"),
)
RIGHT = {
    "of each head": (),
    "over all heads": OVER_ALL,
    "1 is added to the weight": (("self.weight * (", "(1 + self.weight) * ("), ("torch.ones(dim)", "torch.zeros(dim)")),
    "layer norm": (("RMSNorm(self.head_dim)", "nn.LayerNorm(self.head_dim)"),),
    "one norm of both": (
        ("self.q_norm = RMSNorm(self.head_dim)\n        self.k_norm", "self.qk_norm"),
        ("self.q_norm(", "self.qk_norm("),
        ("self.k_norm(", "self.qk_norm("),
    ),
    "without a rotation": (
        (ROTATED, "pass"),
        ("apply_rope", "unused"),
        ("rotate_half", "halves"),
        ("def unused", "def u"),
    ),
}
MISTAKES = {
    # Pieces of the source and what replaces them, and a piece of what is said.
    "no norm of keys": ((KEY,), "the norm of the keys is missing"),
    "no norm": ((QUERY, KEY), "the norm of both, queries and keys, is missing"),
    "after the rotation": (
        (QUERY, KEY, (ROTATED, "q, k = self.q_norm(self.apply_rope(q)), self.k_norm(self.apply_rope(k))")),
        "normalized after they are rotated",
    ),
    "epsilon": (
        (
            (
                "torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)",
                "1 / (x.pow(2).mean(-1, keepdim=True).sqrt() + self.eps)",
            ),
        ),
        "queries and keys, adds its epsilon outside of the root",
    ),
    "over all heads": (
        (("x.pow(2).mean(-1, keepdim=True)", "x.pow(2).mean((-1, -2), keepdim=True)"),),
        "is one over all heads, and its weight that of each head",
    ),
    "sum": ((("x.pow(2).mean(-1", "x.pow(2).sum(-1"),), "adds up the squares"),
    "swapped": (
        (
            ("self.q_norm(heads", "self.swapped(heads"),
            ("self.k_norm(heads", "self.q_norm(heads"),
            ("self.swapped", "self.k_norm"),
        ),
        "the norms of queries and keys are swapped",
    ),
    "values, too": (
        (("v = heads(self.v_proj(hidden_states))", "v = self.k_norm(heads(self.v_proj(hidden_states)))"),),
        "the values are normalized, too",
    ),
}

pytestmark = pytest.mark.filterwarnings("ignore")


def layer(*replaced):
    pytest.importorskip("torch")
    source = SOURCE.read_text(encoding="utf-8")
    for old, new in replaced:
        assert old in source
        source = source.replace(old, new)
    module = ModuleType("changed_layer")
    exec(compile(source, SOURCE.name, "exec"), vars(module))
    return module.Attention


def validated(found):
    return attnspec.validate(found, dtypes="float64", probes=False, select="self_attention/multi_head_causal")


@pytest.mark.parametrize("name", RIGHT)
def test_right_norms_are_right_beside_the_cases(name):
    report = validated(layer(*RIGHT[name]))
    assert not report.wrong
    assert {check.name: check.message for check in report.declaration.layer_checks}["norms"] == ""


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_killed_and_named(name):
    replaced, said = MISTAKES[name]
    report = validated(layer(*replaced))
    (wrong,) = report.wrong
    assert wrong.case.id == "layer/multi_head_attention/norms"
    assert wrong.clauses == ("multi_head.layer.norms",)
    assert said in wrong.verdict.message


def test_norms_that_cannot_be_left_out_are_said():
    by_hand = [(f"self.{name}_norm(heads", "self.by_hand(heads") for name in "qk"]
    own = (
        "    def apply_rope",
        "    def by_hand(self, x):\n        return F.rms_norm(x, (self.head_dim,))\n\n    def apply_rope",
    )
    with pytest.raises(TargetError, match="normalizes queries and keys in its own code"):
        found_layer(layer(*by_hand, own), {})

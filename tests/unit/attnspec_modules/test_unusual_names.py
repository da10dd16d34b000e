"""Names that no table has: entries of a configuration, a store that a layer fills, shapes beside what a mask means."""

import pytest

import attnspec
from attnspec.base.errors import TargetError
from attnspec_modules.attention.names import likely_meaning_of

SOURCE = '''
from dataclasses import dataclass

import numpy as np


@dataclass
class TinyPlan:
    token_features: int = 64
    attending_heads: int = 4
    weight_drop: float = 0.1


class Attending:
    def __init__(self, plan: TinyPlan):
        if plan.token_features % plan.attending_heads:
            raise ValueError("the heads must divide the features")
        self.heads = plan.attending_heads
        self.w_q, self.w_k, self.w_v, self.w_o = np.random.normal(size=(4, plan.token_features, plan.token_features))

    def forward(self, x, mask=None, shelf=None):
        """Tokens x (B, S, D); mask (B, 1, 1, Sk) or (B, 1, Sq, Sk), nonzero = may be looked at."""
        q, k, v = (
            (x @ each).reshape(*x.shape[:2], self.heads, -1).swapaxes(1, 2) for each in (self.w_q, self.w_k, self.w_v)
        )
        if shelf is not None:
            if "k" in shelf:
                k, v = np.concatenate([shelf["k"], k], axis=2), np.concatenate([shelf["v"], v], axis=2)
            shelf["k"], shelf["v"] = k, v
        old = k.shape[2] - x.shape[1]
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(x.dtype)
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool), old), scores, -np.inf).astype(x.dtype)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return (weights @ v).swapaxes(1, 2).reshape(x.shape) @ self.w_o
'''
CAUSAL = "np.tril(np.ones(scores.shape[-2:], bool), old)"
MASKED = "np.ones(scores.shape[-2:], bool) if mask is None else np.asarray(mask) != 0"

TREE = MASKED.replace("mask", "tree_mask")

pytestmark = pytest.mark.filterwarnings("ignore")


def validated(folder, *changes):
    source = SOURCE
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    path = folder / "unusual.py"
    path.write_text(source, encoding="utf-8")
    return attnspec.validate(f"{path}:Attending", dtypes="float64", probes=False, select="self_attention/*")


def test_a_configuration_and_a_store_are_found_by_what_they_do(tmp_path):
    report = validated(tmp_path, ("mask=None, ", ""))
    assert report.conforms
    assert "called by itself: cache right" in report.declaration.guessed


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (", old)", ")", "top left"),
        (
            'shelf["k"], shelf["v"] = k, v',
            'shelf["k"], shelf["v"] = k[:, :, -x.shape[1] :], v[:, :, -x.shape[1] :]',
            "cache",
        ),
    ],
    ids=["top left", "earlier tokens forgotten"],
)
def test_a_mistake_with_such_a_store_is_seen(tmp_path, old, new, said):
    report = validated(tmp_path, ("mask=None, ", ""), (old, new))
    (wrong,) = report.wrong
    assert wrong.case.id == "layer/multi_head_attention/cache"
    assert said in wrong.verdict.message


def test_the_1_of_a_shape_is_no_value_of_a_mask(tmp_path):
    report = validated(tmp_path, ("shelf=None", "unused=0"), ("shelf is not None", "unused"), (CAUSAL, MASKED))
    assert report.conforms
    assert "its documentation says 1 may be attended, and so it is" in report.declaration.guessed


@pytest.mark.parametrize(
    ("name", "default", "meaning"),
    [
        ("attending_heads", 4, "heads"),
        ("head_features", 8, "head_width"),
        ("heads_of_kv", 2, "kv_heads"),
        ("longest_seq_len", 128, "length"),
        ("weight_drop", 0.1, "none"),
        ("with_bias_terms", True, "true"),
        ("weight_drop", 1, None),
        ("window_size", 64, None),
        ("rotary", True, None),
    ],
)
def test_an_entry_means_what_its_name_and_its_default_say(name, default, meaning):
    assert likely_meaning_of(name, default) == meaning


def test_what_engines_give_beside_tokens_is_known(tmp_path):
    renamed = ("mask=None, ", "tree_mask=None, block_tables=None, cu_seqlens=None, ")
    report = validated(tmp_path, renamed, ("; mask (B", "; tree_mask (B"), (CAUSAL, TREE))
    assert report.conforms
    assert "mask tree_mask (B, H, Sq, Sk): 1 may be attended" in report.declaration.guessed
    assert "not tried, and left out of each call: block_tables, cu_seqlens" in report.declaration.guessed
    with pytest.raises(TargetError, match=r"demands 'slot_mapping'\. A layer is called with tokens and masks"):
        validated(tmp_path, ("x, mask=None", "x, slot_mapping"))


def test_a_configuration_of_another_file_is_made_by_its_defaults(tmp_path, monkeypatch):
    start, end = SOURCE.index("@dataclass"), SOURCE.index("class Attending")
    plan = SOURCE[start:end] + "    least: float = 0.0\n"
    (tmp_path / "plans_elsewhere.py").write_text(f"from dataclasses import dataclass\n\n\n{plan.strip()}\n")
    monkeypatch.syspath_prepend(tmp_path)
    report = validated(
        tmp_path,
        (CAUSAL, MASKED),
        (SOURCE[start:end], "from plans_elsewhere import TinyPlan\n\n\n"),
        ("plan: TinyPlan):", "config: TinyPlan, layer_idx: int):\n        plan = config"),
        ("self.heads =", "self.least, self.layer = plan.least + 0.0, layer_idx + 0\n        self.heads ="),
    )
    assert report.conforms
    assert report.summary.counts["pass"] > 5


ROTATED = """if shelf is not None:
            raise ValueError("a shelf is for later")
        cos, sin = (table[:, None] for table in position_embeddings)
        half = q.shape[-1] // 2
        q, k = (
            each * cos + np.concatenate([-each[..., half:], each[..., :half]], axis=-1) * sin for each in (q, k)
        )
        if shelf is not None:"""


@pytest.mark.parametrize(("sign", "is_right"), [("-", True), ("", False)])
def test_tables_that_a_call_cannot_do_without_may_have_a_default(tmp_path, sign, is_right):
    rotated = ROTATED.replace("[-each", f"[{sign}each")
    report = validated(
        tmp_path,
        (CAUSAL, MASKED),
        ("mask=None, shelf=None)", "mask=None, position_embeddings=None, shelf=None)"),
        ("if shelf is not None:", rotated),
    )
    assert report.conforms == is_right
    assert any("rotary" in result.case.id for result in report.results if result.is_wrong) != is_right

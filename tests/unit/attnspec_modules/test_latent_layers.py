"""Layers of latent attention as people write them: right ones pass, and a mistake fails where it can be seen."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import attnspec
from attnspec.base.errors import TargetError
from attnspec_modules.attention.adapting import found_layer
from attnspec_modules.attention.latents.latent_holder import is_latent
from attnspec_modules.attention.latents.latent_widths import Needed, possible_ties, widths_for
from attnspec_modules.attention.layer_reading import LatentTies

LAYERS = Path(__file__).parents[2] / "examples" / "layers"
CLASSES = {
    # File: its class, so many cases at least that are graded in float64, pieces of what is said of it.
    "latent_of_checkpoints": (
        "DeepseekAttention",
        32,
        ("kv_a_proj_with_mqa.weight is latent, key_rotary, side by side", "norms right, rotary right"),
    ),
    "latent_of_inference": (
        "MLA",
        30,
        ("wkv_b.weight is up_key, up_value, head by head", "norms right, rotary right, cache right"),
    ),
    "latent_of_students": ("MultiHeadLatentAttention", 2, ("W_QR.weight is rotary, transposed", "rotary right")),
    "latent_of_numpy": ("LatentAttention", 2, ("kv_up is up_key, up_value, side by side",)),
}
MISTAKES = [
    # File, piece of the source, what replaces it, the clause that is broken, and a piece of what is said.
    (
        "latent_of_checkpoints",
        "self.q_head_dim ** (-0.5)",
        "self.qk_nope_head_dim ** (-0.5)",
        "latent.scale.default",
        None,
    ),
    (
        "latent_of_checkpoints",
        "1.0 / (base **",
        "1.0 / (1000.0 **",
        "latent.layer.rotary",
        "the base of the frequencies is 1000",
    ),
    (
        "latent_of_students",
        "self.rope(self.W_KR(x).unsqueeze(1))",
        "self.W_KR(x).unsqueeze(1)",
        "latent.layer.rotary",
        "the shared key is not rotated",
    ),
    (
        "latent_of_checkpoints",
        "self.kv_b_proj(self.kv_a_layernorm(compressed_kv))",
        "self.kv_b_proj(compressed_kv)",
        "latent.layer.norms",
        "the norm of the latents is missing",
    ),
    (
        "latent_of_checkpoints",
        "torch.rsqrt(variance + self.variance_epsilon)",
        "1 / (torch.sqrt(variance) + self.variance_epsilon)",
        "latent.layer.norms",
        "each norm adds its epsilon outside of the root",
    ),
    ("latent_of_checkpoints", "attn_weights, dim=-1)", "attn_weights, dim=-2)", "latent.softmax", None),
    (
        "latent_of_inference",
        "self.kv_cache[:bsz, start_pos:end_pos] = self.kv_norm(kv)",
        "self.kv_cache[:bsz, :seqlen] = self.kv_norm(kv)",
        "latent.layer.cache",
        "with a cache",
    ),
    (
        "latent_of_inference",
        "self.softmax_scale = self.qk_head_dim**-0.5",
        "self.softmax_scale = (self.kv_lora_rank + self.qk_rope_head_dim) ** -0.5",
        "latent.scale.default",
        None,
    ),
    (
        "latent_of_students",
        "torch.ones(T, T, dtype=torch.bool), 1)",
        "torch.ones(T, T, dtype=torch.bool), 2)",
        None,
        None,
    ),
    (
        "latent_of_students",
        "self.rope(heads(self.W_QR(c_q)))",
        "heads(self.W_QR(c_q))",
        "latent.layer.rotary",
        "the queries are not rotated",
    ),
    ("latent_of_students", "math.sqrt(self.head_dim + self.rope_dim)", "math.sqrt(self.head_dim)", None, None),
    ("latent_of_students", "heads(self.W_UV(c_kv))", "heads(self.W_UK(c_kv))", None, None),
    ("latent_of_numpy", "np.tril(", "np.triu(", None, None),
]

pytestmark = pytest.mark.filterwarnings("ignore")


def layer(file, *replaced):
    if file != "latent_of_numpy":
        pytest.importorskip("torch")
    source = (LAYERS / f"{file}.py").read_text(encoding="utf-8")
    for old, new in replaced:
        assert old in source
        source = source.replace(old, new)
    module = ModuleType(file)
    exec(compile(source, f"{file}.py", "exec"), vars(module))
    return getattr(module, CLASSES[file][0])


def validated(found):
    return attnspec.validate(found, dtypes="float64", probes=False, select="latent/naive_*")


@pytest.mark.parametrize("file", CLASSES)
def test_a_right_layer_passes(file):
    _, graded, said = CLASSES[file]
    report = validated(layer(file))
    assert report.declaration.operations == ("latent_attention",)
    assert not report.wrong
    assert report.summary.counts["pass"] >= graded
    assert all(piece in report.declaration.guessed for piece in said)


@pytest.mark.parametrize(("file", "old", "new", "clause", "said"), MISTAKES)
def test_a_mistake_fails(file, old, new, clause, said):
    report = validated(layer(file, (old, new)))
    assert report.wrong
    if clause is not None:
        assert any(clause in result.clauses for result in report.wrong)
    if said is not None:
        assert any(said in result.verdict.message for result in report.wrong)


def test_an_order_that_published_weights_do_not_have_is_graded_and_said():
    old = "k_nope, value_states = torch.split(kv, [self.qk_nope_head_dim, self.v_head_dim], dim=-1)"
    new = "value_states, k_nope = torch.split(kv, [self.v_head_dim, self.qk_nope_head_dim], dim=-1)"
    report = validated(layer("latent_of_checkpoints", (old, new)))
    assert not report.wrong
    assert "Doubtful: kv_b_proj.weight holds up_value, up_key in that order" in report.declaration.guessed


BY_HAND = (
    "self.kv_b_proj(self.kv_a_layernorm(compressed_kv))",
    "self.kv_b_proj(torch.nn.functional.rms_norm(compressed_kv, (self.kv_lora_rank,)))",
)
GATED = ("self.softmax_scale =", "self.gate = nn.Linear(config.hidden_size, 7)\n        self.softmax_scale =")


@pytest.mark.parametrize(
    ("replaced", "said"),
    [(BY_HAND, "normalizes its latents in its own code"), (GATED, "which are not its matrices")],
)
def test_a_layer_that_cannot_be_graded_is_said(replaced, said):
    changed = layer("latent_of_checkpoints", replaced)
    with pytest.raises(TargetError, match=said):
        found_layer(changed, {})
    assert is_latent(changed)
    assert not is_latent(Needed)


@pytest.mark.parametrize("words", [{"rotary"}, set(), {"content", "rotary", "value_width"}, {"head_width", "rotary"}])
@pytest.mark.parametrize("content", [2, 3, 5])
def test_widths_hold_what_is_needed_at_the_same_scale(words, content):
    for ties in possible_ties(frozenset(words)):
        needed = Needed(2, content, 1 if ties.has_rotary else 0, 2, 3, 9)
        tokens, widths, factor = widths_for(ties, needed)
        assert widths.content >= content
        assert widths.latent >= 3
        assert 2 * widths.value_width <= tokens >= 9
        assert np.sqrt(widths.joined) == factor * np.sqrt(needed.content + needed.rotary)
        assert ties.content != "head" or tokens == 2 * widths.content
    assert widths_for(LatentTies(), Needed(2, 2 * content, 2, 6, 8, 20))[1].content == 2 * content

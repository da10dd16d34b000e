"""Layers of PyTorch, Keras and Flax as people write them, right and with a mistake, where their library is there."""

import os
from pathlib import Path
from types import ModuleType

import pytest

import attnspec

LAYERS = Path(__file__).parents[2] / "examples" / "layers"

CASES = {
    # File, class: at least so many of its cases are graded in float64, and a piece of what is said of it.
    ("annotated", "MultiHeadedAttention"): (180, "linears.3.weight is w_output, transposed"),
    ("fused_causal", "CausalSelfAttention"): (7, "causality is built in"),
    ("three_and_projection", "CausalSelfAttention"): (7, "config=(by name)"),
    ("book", "MultiHeadAttention"): (7, "context_length=length"),
    ("image", "Attention"): (9, "w_query, w_key, w_value, side by side"),
    ("rotary_grouped", "Attention"): (20, "rotates queries and keys: interleaved pairing, base 10000"),
    ("cached", "MultiHeadAttention"): (7, "cache right"),
    ("crossing", "CrossAttention"): (70, "key_padding_mask (B, Sk): 1 hides"),
    ("block_of_transformer", "MultiHeadAttention"): (100, "it normalizes inside (layer_norm), which is left out"),
    ("of_keras", "MultiHeadAttention"): (190, "mask (B, H, Sq, Sk): 1 hides"),
    ("of_flax", "MultiHeadAttention"): (35, "query.kernel is w_query"),
}

MISTAKES = [
    (
        "annotated",
        "MultiHeadedAttention",
        "math.sqrt(d_k)",
        "math.sqrt(d_k * query.size(1))",
        "multi_head.scale.default",
    ),
    (
        "annotated",
        "MultiHeadedAttention",
        "x = x.transpose(1, 2).contiguous().view",
        "x = x.contiguous().view",
        "multi_head.combine",
    ),
    ("annotated", "MultiHeadedAttention", "softmax(dim=-1)", "softmax(dim=1)", "multi_head.softmax.keys"),
    ("annotated", "MultiHeadedAttention", "softmax(dim=-1)", "softmax(dim=-2)", "multi_head.softmax.keys"),
    ("fused_causal", "CausalSelfAttention", "torch.tril(", "torch.triu(", "multi_head.causal"),
    ("book", "MultiHeadAttention", "diagonal=1", "diagonal=2", "multi_head.causal"),
    ("image", "Attention", "self.head_dim**-0.5", "dim**-0.5", "multi_head.scale.default"),
    (
        "cached",
        "MultiHeadAttention",
        "[self.cache_v, values_new]",
        "[values_new, self.cache_v]",
        "multi_head.layer.cache",
    ),
    ("rotary_grouped", "Attention", "scores = scores + mask", "pass", "multi_head.mask"),
    ("crossing", "CrossAttention", "self.to_kv(context)", "self.to_kv(x)", None),
]


def layer(file, name, old="", new=""):
    """The class of an example, with a piece of its source replaced."""
    source = (LAYERS / f"{file}.py").read_text(encoding="utf-8")
    library = "keras" if file == "of_keras" else "flax" if file == "of_flax" else "torch"
    if library == "keras":
        os.environ.setdefault("KERAS_BACKEND", "torch")
    pytest.importorskip(library)
    assert old in source
    module = ModuleType(f"changed_{file}")
    exec(compile(source.replace(old, new) if old else source, f"{file}.py", "exec"), vars(module))
    return getattr(module, name)


def validated(found):
    return attnspec.validate(found, dtypes="float64", probes=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("file", "name"), CASES, ids=[file for file, _ in CASES])
def test_a_right_layer_is_graded_and_nothing_is_wrong(file, name):
    fewest, said = CASES[file, name]
    report = validated(layer(file, name))
    assert report.conforms
    assert report.summary.counts["pass"] >= fewest
    assert said in report.declaration.guessed


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("file", "name", "old", "new", "clause"), MISTAKES, ids=lambda value: str(value)[:20])
def test_a_mistake_is_not_read_as_another_way(file, name, old, new, clause):
    report = validated(layer(file, name, old, new))
    assert not report.conforms
    if clause is not None:
        named = {diagnosis.clause for diagnosis in report.diagnosis}
        suspected = {suspect.clause for diagnosis in report.diagnosis for suspect in diagnosis.suspects}
        assert clause in named | suspected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("layer_class", "select", "said"),
    [
        ("llama.modeling_llama:LlamaAttention", "self_attention/*", "grouped heads right, rotary right"),
        (
            "gemma3.modeling_gemma3:Gemma3Attention",
            "self_attention/*",
            "grouped heads right, rotary right, norms right",
        ),
        ("deepseek_v3.modeling_deepseek_v3:DeepseekV3Attention", "latent/*", "norms right"),
    ],
)
def test_a_layer_of_transformers_is_graded_as_it_stands(layer_class, select, said):
    pytest.importorskip("transformers")
    report = attnspec.validate(f"transformers.models.{layer_class}", dtypes="float64", probes=False, select=select)
    assert report.conforms
    assert report.summary.counts["pass"] > 5
    assert said in report.declaration.guessed

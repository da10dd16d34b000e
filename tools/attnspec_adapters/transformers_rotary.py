"""Rotary positions in Hugging Face Transformers, as its models call them: part of the adapter `transformers`.

====================== ==============================================================================
Operation              Mapped to
====================== ==============================================================================
`rotary_frequencies`   ``ROPE_INIT_FUNCTIONS`` of ``modeling_rope_utils``, with a configuration that
                       has the case's parameters under Transformers' names; without scaling, what
                       Llama has
... `original_length`  ``max_position_embeddings`` for dynamic, the ``original_`` one for the others
`rotary_tables`        ``LlamaRotaryEmbedding``; the first half of its tables, which repeat each number
`apply_rotary`         ``apply_rotary_pos_emb`` of GPT-NeoX, and of GLM where pairs are interleaved
====================== ==============================================================================

Frequencies and phases are computed in float32 whatever the dtype. The rotation is done in the dtype of the features
and is graded unfused. The conventions were found by running Transformers 5.23, and the tests run it again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.tensors.libraries import import_library

__all__ = ["CONVENTIONS", "apply_rotary", "modeling_of", "rotary_frequencies", "rotary_tables"]

import_library("transformers", adapter="transformers")
torch = import_library("torch", adapter="transformers")
tensors = import_library("attnspec.tensors.of_torch", adapter="transformers")

CONVENTIONS: Mapping[str, str] = {
    "input_checks": "lenient",
    "apply_rotary.half_precision_overflow": "open",
    "rotary_frequencies.accumulation": "float32",
    "rotary_tables.accumulation": "float32",
}

_NAMES = {
    "original_length": "original_max_position_embeddings",
    "low_frequency_factor": "low_freq_factor",
    "high_frequency_factor": "high_freq_factor",
    "short_factors": "short_factor",
    "long_factors": "long_factor",
    "proportion": "partial_rotary_factor",
    "magnitude_scaling": "mscale",
    "magnitude_scaling_all_dimensions": "mscale_all_dim",
}
"""The contract's name of a parameter to Transformers', where they differ."""


@dataclass(frozen=True)
class _Configuration:
    """Attributes that the functions read of a model's configuration."""

    head_dim: int
    rope_parameters: Mapping[str, Any]
    max_position_embeddings: int | None
    num_attention_heads: int = 1
    per_layer_config: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def hidden_size(self) -> int:
        """The width of the only head."""
        return self.head_dim

    def standardize_rope_params(self) -> None:
        """Leave the parameters as they are: they have the new form."""


def rotary_frequencies(
    *,
    width: int,
    theta: float = 10000.0,
    scaling: str = "none",
    sequence_length: int | None = None,
    **parameters: Any,
) -> dict[str, NDArray[Any]]:
    """Run the function that Transformers has for the scaling."""
    if scaling != "proportional":
        # Elsewhere that name says how much of a head is rotated, which the width has said.
        parameters.pop("proportion", None)
    stated = {_NAMES.get(name, name): value for name, value in parameters.items()}
    configuration = _Configuration(width, {"rope_theta": theta, **stated}, parameters.get("original_length"))
    if scaling == "none":
        frequencies, factor = modeling_of("llama").LlamaRotaryEmbedding.compute_default_rope_parameters(configuration)
    else:
        utilities = import_library("transformers.modeling_rope_utils", adapter="transformers")
        compute = utilities.ROPE_INIT_FUNCTIONS[scaling]
        frequencies, factor = compute(configuration, "cpu", seq_len=sequence_length)
    return {"inverse_frequencies": frequencies.numpy(), "attention_factor": np.array(factor, dtype=np.float64)}


def rotary_tables(
    position_ids: NDArray[Any], inverse_frequencies: NDArray[Any], *, attention_factor: float = 1.0
) -> dict[str, NDArray[Any]]:
    """Run the module of Llama with these frequencies and this factor."""
    embedding = _llama_embedding()
    like = tensors.to_tensor(inverse_frequencies)
    embedding.inv_freq, embedding.attention_scaling = like.float(), attention_factor
    cos, sin = embedding(like, tensors.to_tensor(position_ids))
    pairs = inverse_frequencies.shape[-1]
    return {"cos": tensors.to_array(cos[..., :pairs]), "sin": tensors.to_array(sin[..., :pairs])}


def apply_rotary(x: NDArray[Any], cos: NDArray[Any], sin: NDArray[Any], *, pairing: str = "half") -> NDArray[Any]:
    """Rotate as GPT-NeoX or GLM does, `x` as both query and key; `ValueError` for a pairing that no model has."""
    models = {"half": "gpt_neox", "interleaved": "glm"}
    if pairing not in models:
        raise ValueError(f"no model of Transformers has the pairing {pairing!r}")
    module = modeling_of(models[pairing])
    features, *tables = (tensors.to_tensor(array) for array in (x, cos, sin))
    twice = [torch.cat((table, table), dim=-1) for table in tables]
    turned, _ = module.apply_rotary_pos_emb(features, features, *twice)
    return tensors.to_array(turned)


def modeling_of(model: str) -> Any:
    """Return the module of Transformers that has a model, such as ``llama``."""
    return import_library(f"transformers.models.{model}.modeling_{model}", adapter="transformers")


@cache
def _llama_embedding() -> Any:
    """Return the module of a model of one head, whose frequencies are then replaced."""
    library = import_library("transformers", adapter="transformers")
    return modeling_of("llama").LlamaRotaryEmbedding(library.LlamaConfig(hidden_size=8, num_attention_heads=1))

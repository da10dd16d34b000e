"""Norms in Hugging Face Transformers, as its models call them: part of the adapter `transformers`.

============== =====================================================================================
Operation      Mapped to
============== =====================================================================================
`rms_norm`     ``LlamaRMSNorm``; ``GemmaRMSNorm`` where 1 is added to the weight
`qk_norm`      the norms of ``Qwen3Attention``; of ``Gemma3Attention`` where 1 is added to the weights;
               of ``Olmo2Attention`` over all heads, before they are cut apart
... `cos`      ``apply_rotary_pos_emb`` after both, as in `apply_rotary`
============== =====================================================================================

No model of these has weights of all heads to which 1 is added. Squares, mean and root are computed in float32 whatever
the dtype. Llama and Qwen round before they multiply by the weight, so that half precision is graded unfused.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from numpy.typing import NDArray

from attnspec.base.errors import Unsupported
from attnspec.tensors.libraries import import_library
from attnspec_adapters.composing import taking
from attnspec_adapters.transformers_rotary import apply_rotary, modeling_of

__all__ = ["CONVENTIONS", "qk_norm", "rms_norm"]

torch = import_library("torch", adapter="transformers")
tensors = import_library("attnspec.tensors.of_torch", adapter="transformers")

CONVENTIONS: Mapping[str, str] = {
    "rms_norm.accumulation": "float32",
    "rms_norm.input_checks": "lenient",
    "qk_norm.accumulation": "float32",
    "qk_norm.input_checks": "lenient",
}

_NORMS = {
    ("token", "zero"): ("llama", "LlamaRMSNorm"),
    ("token", "one"): ("gemma", "GemmaRMSNorm"),
    ("head", "zero"): ("qwen3", "Qwen3RMSNorm"),
    ("head", "one"): ("gemma3", "Gemma3RMSNorm"),
    ("all_heads", "zero"): ("olmo2", "Olmo2RMSNorm"),
}
"""What is normalized together, and the offset of the weight, to the model and its norm."""


@taking("weight_offset")
def rms_norm(given: SimpleNamespace) -> NDArray[Any]:
    """Run the norm of Llama, or of Gemma, on rows of features."""
    x, weight = tensors.to_tensor(given.x), tensors.to_tensor(given.weight)
    return tensors.to_array(_normalized("token", x, weight, given))


@taking("cos sin normalized_over weight_offset pairing")
def qk_norm(given: SimpleNamespace) -> dict[str, NDArray[Any]]:
    """Run both norms of a model's attention, and its rotation where there are tables.

    `Unsupported` for what no model has; `ValueError` for words that mean nothing.
    """
    outputs: dict[str, NDArray[Any]] = {}
    for name in ("query", "key"):
        x, weight = (tensors.to_tensor(getattr(given, each)) for each in (name, f"{name}_weight"))
        if given.normalized_over == "all_heads":
            together = x.transpose(1, 2).flatten(2)
            normalized = _normalized("all_heads", together, weight, given)
            output = normalized.unflatten(2, x.transpose(1, 2).shape[2:]).transpose(1, 2)
        else:
            output = _normalized(given.normalized_over, x, weight, given)
        outputs[f"{name}_output"] = tensors.to_array(output)
    cos, sin = given.cos, given.sin
    if cos is None and sin is None:
        return outputs
    if cos is None or sin is None:
        raise ValueError("one table is given without the other")
    return {name: apply_rotary(output, cos, sin, pairing=given.pairing) for name, output in outputs.items()}


def _normalized(together: str, x: Any, weight: Any, given: SimpleNamespace) -> Any:
    if given.weight_offset not in ("zero", "one") or together not in ("token", "head", "all_heads"):
        raise ValueError(f"no norm has the offset {given.weight_offset!r} over {together!r}")
    if (together, given.weight_offset) not in _NORMS:
        raise Unsupported("no model of Transformers adds 1 to weights of all heads")
    model, name = _NORMS[together, given.weight_offset]
    norm = getattr(modeling_of(model), name)(len(weight), eps=given.epsilon)
    norm.weight = torch.nn.Parameter(weight, requires_grad=False)
    with torch.inference_mode():
        return norm(x)

"""Adapters that come with attnspec. Each is imported only when it is named.

A library that computes attention in several ways has one adapter for each, named after both: ``torch`` is what a
user of PyTorch gets who chooses nothing, ``torch-math`` and ``torch-flash`` are its kernels, ``torch-flex`` its other
interface, ``torch-mha`` its module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec.adapters.builtin.libraries import OWN_EXTRAS, SHARED_EXTRA, extra_of, import_library, installation

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BUILT_IN",
    "OWN_EXTRAS",
    "SHARED_EXTRA",
    "THIRD_PARTY",
    "extra_of",
    "import_library",
    "installation",
]

THIRD_PARTY: Mapping[str, str] = {
    "jax": "attnspec.adapters.builtin.jax:adapter",
    "flax": "attnspec.adapters.builtin.flax:adapter",
    "keras": "attnspec.adapters.builtin.keras:adapter",
    "torch": "attnspec.adapters.builtin.torch:Torch",
    "torch-math": "attnspec.adapters.builtin.torch:TorchMath",
    "torch-flash": "attnspec.adapters.builtin.torch:TorchFlash",
    "torch-flex": "attnspec.adapters.builtin.torch:TorchFlex",
    "torch-mha": "attnspec.adapters.builtin.torch:TorchMultihead",
    "torch-mha-fast": "attnspec.adapters.builtin.torch:TorchMultiheadFast",
    "onnxruntime": "attnspec.adapters.builtin.onnxruntime:adapter",
    "onnx": "attnspec.adapters.builtin.onnx:adapter",
    "transformers": "attnspec.adapters.builtin.transformers:adapter",
    "transformers-eager": "attnspec.adapters.builtin.transformers.eager:adapter",
    "mlx": "attnspec.adapters.builtin.mlx:adapter",
    "openvino": "attnspec.adapters.builtin.openvino:adapter",
    "paddle": "attnspec.adapters.builtin.paddle:adapter",
    "tinygrad": "attnspec.adapters.builtin.tinygrad:adapter",
}
"""Name of a built-in adapter to the module, or the class in a module, that is one; each needs a library.

The one that takes longest stands first, because the third parties are run in this order.
"""

BUILT_IN: Mapping[str, str] = {"reference": "attnspec.adapters.builtin.reference:adapter", **THIRD_PARTY}
"""The same for every built-in adapter."""

"""Extensions: what stands beside the validator and joins it by name, imported once it is asked for and never before.

The validator imports none of it. Each name leads to a place, ``package.module:attribute``. A library of somebody else's
joins through an entry point of its own package (``spec/guides/adapters.md``).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Command(NamedTuple):
    """A command of the command line.

    Attributes
    ----------
    place
        Where it is.
    line
        What it does: the first sentence of its help.
    """

    place: str
    line: str


COMMANDS: Mapping[str, Command] = {
    "campaign": Command(
        "attnspec.command_line.campaign:campaign", "Draw cases for TARGET, and say what fails, made small."
    ),
    "judge": Command(
        "attnspec.command_line.judge:judge_candidates",
        "Judge each TARGET by draws that nobody has seen, at the shapes of its user and beside them.",
    ),
}
"""Name of a command to it."""

RANDOM_CASES: Mapping[str, str] = {"draw:": "attnspec.draws.drawing:case_of_text"}
"""How the texts begin that name random cases, to what makes a case of such a text."""

MEASURED = "attnspec.probing.measuring:measured"
"""What calls a wrong implementation again, to measure what it computes."""

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


def loaded(place: str) -> Any:
    """Import what stands at a place, ``package.module:attribute``."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)

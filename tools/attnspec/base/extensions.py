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
        "attnspec_draws.commands.campaign:campaign", "Draw cases for TARGET, and say what fails, made small."
    ),
    "judge": Command(
        "attnspec_draws.commands.judge:judge_candidates",
        "Judge each TARGET by draws that nobody has seen, at the shapes of its user and beside them.",
    ),
}
"""Name of a command to it."""

RANDOM_CASES: Mapping[str, str] = {"draw:": "attnspec_draws.drawing:case_of_text"}
"""How the texts begin that name random cases, to what makes a case of such a text."""

MEASURED = "attnspec_probes.measuring:measured"
"""What calls a wrong implementation again, to measure what it computes."""

THIRD_PARTY: Mapping[str, str] = {
    "jax": "attnspec_adapters.jax:adapter",
    "flax": "attnspec_adapters.flax:adapter",
    "keras": "attnspec_adapters.keras:adapter",
    "torch": "attnspec_adapters.torch:Torch",
    "torch-math": "attnspec_adapters.torch:TorchMath",
    "torch-flash": "attnspec_adapters.torch:TorchFlash",
    "torch-flex": "attnspec_adapters.torch:TorchFlex",
    "torch-mha": "attnspec_adapters.torch:TorchMultihead",
    "torch-mha-fast": "attnspec_adapters.torch:TorchMultiheadFast",
    "onnxruntime": "attnspec_adapters.onnxruntime:adapter",
    "onnx": "attnspec_adapters.onnx:adapter",
    "transformers": "attnspec_adapters.transformers:adapter",
    "transformers-eager": "attnspec_adapters.transformers.eager:adapter",
    "mlx": "attnspec_adapters.mlx:adapter",
    "openvino": "attnspec_adapters.openvino:adapter",
    "paddle": "attnspec_adapters.paddle:adapter",
    "tinygrad": "attnspec_adapters.tinygrad:adapter",
}
"""Name of a built-in adapter to the module, or the class in a module, that is one; each needs a library.

The one that takes longest stands first, because the third parties are run in this order.
"""

BUILT_IN: Mapping[str, str] = {"reference": "attnspec_adapters.reference:adapter", **THIRD_PARTY}
"""The same for every built-in adapter."""


def loaded(place: str) -> Any:
    """Import what stands at a place, ``package.module:attribute``."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)

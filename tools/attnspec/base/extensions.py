"""Extensions: commands, adapters and case generators that join the validator by name, as ``package.module:attribute``.

The validator imports none of them before it is needed. A library of somebody else's joins through an entry point of
its own package (``spec/guides/adapters.md``).
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple


class Command(NamedTuple):
    """A command of the command line: its ``package.module:attribute``, and the first sentence of its help."""

    path: str
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
"""Beginning of the texts that name random cases, to the function that makes a case of such a text."""

MEASURED = "attnspec_probes.measuring:measured"
"""The function that calls a wrong implementation again, to measure the computation that it makes."""

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
    "transformers-eager": "attnspec_adapters.transformers:eager",
    "mlx": "attnspec_adapters.mlx:adapter",
    "openvino": "attnspec_adapters.openvino:adapter",
    "paddle": "attnspec_adapters.paddle:adapter",
    "tinygrad": "attnspec_adapters.tinygrad:adapter",
}
"""Built-in adapter to its ``module:attribute``, each of which needs a library; run in this order, the slowest first."""

BUILT_IN: Mapping[str, str] = {"reference": "attnspec_adapters.reference:adapter", **THIRD_PARTY}
"""The same for every built-in adapter."""


def loaded(path: str) -> Any:
    """Import the object at a ``package.module:attribute``."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)

"""Extensions: commands, adapters and case generators that join the validator by name, as ``package.module:attribute``.

The validator imports none of them before it is needed. A library of somebody else's joins through an entry point of
its own package (``spec/guides/adapters.md``).
"""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from attnspec.base.errors import UsageError


class Command(NamedTuple):
    """A command of the command line: its ``package.module:attribute``, and the first sentence of its help.

    `on_one_thread`: its products are so small, and so many, that a second thread of NumPy's only waits for the first.
    """

    path: str
    line: str
    on_one_thread: bool = False


_TABLE: Mapping[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_bytes())

COMMANDS = {name: Command(**facts) for name, facts in _TABLE["commands"].items()}
"""Name of a command to it."""

RANDOM_CASES: Mapping[str, str] = {"draw:": "attnspec_draws.drawing:case_of_text"}
"""Beginning of the texts that name random cases, to the function that makes a case of such a text."""

MEASURED = "attnspec_probes.measuring:measured"
"""The function that calls a wrong implementation again, to measure the computation that it makes."""

LAYERS = "attnspec_modules.attention.adapting:found_layer"
"""The function that makes operations of a layer, which holds its own weights."""

WRITTEN_LAYER = "attnspec_modules.attention.adapting:written_layer"
"""The function that writes the adapter of a layer."""

IS_LAYER = "attnspec_modules.attention.recognising:is_layer"
"""The function that says whether a class or an instance is a layer, by its bases alone."""

WHOLE_MATRIX = "attnspec_authoring.proof.matrix_command:whole_matrix"
"""The function that proves, in a checkout, that the cases notice all mistakes."""

PART_OF_MATRIX = "attnspec_authoring.proof.matrix_command:part_of_matrix"
"""The function that proves it of some mistakes, over some cases."""

JUDGED = "attnspec_authoring.proof.matrix_command:write_judged"
"""The function that writes which cases notice judged implementations."""

FORGOTTEN = "attnspec_authoring.completeness:missing"
"""The function that finds, in a checkout, what stands in no list that it must join."""

THIRD_PARTY: Mapping[str, str] = _TABLE["adapters"]
"""Built-in adapter to its ``module:attribute``, each of which needs a library; run in this order, the slowest first."""

BUILT_IN: Mapping[str, str] = {"reference": "attnspec_adapters.reference:adapter", **THIRD_PARTY}
"""The same for every built-in adapter."""


def import_object(path: str) -> Any:
    """Import the object at a ``package.module:attribute``."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def imported_for(command: str, path: str) -> Any:
    """Import what a command needs; `UsageError` where it is in a package that a checkout has, and no wheel."""
    try:
        return import_object(path)
    except ModuleNotFoundError as error:
        if error.name != path.partition(".")[0]:
            raise
        raise UsageError(
            f"`attnspec {command}` works in a checkout of attnspec: clone the repository and install it with "
            "`pip install --editable .`"
        ) from None

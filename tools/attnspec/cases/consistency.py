"""What a schema cannot say about a case file: its parts must fit each other and the table of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnspec.operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping


def contradiction(document: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the JSON pointer and the sentence of the first contradiction in a case that follows the schema.

    Parameters
    ----------
    document
        The whole JSON document of one case.

    Returns
    -------
    tuple of str, or None
        None when everything fits.
    """
    operation = OPERATIONS[document["operation"]]
    inputs = {*operation.inputs, *operation.optional_inputs}
    profile = document["id"].split("/", 1)[0]
    if document["profile"] != profile:
        return "/profile", f"the profile is the first folder of the id, {profile!r}"
    for part, known in (("inputs", inputs), ("attributes", set(operation.attributes))):
        for name in sorted(document[part].keys() - known):
            return f"/{part}/{name}", f"{operation.name} has no such argument; it has {', '.join(sorted(known))}"
    for name in operation.required_arguments:
        if name not in document["inputs"] and name not in document["attributes"]:
            return "/inputs" if name in inputs else "/attributes", f"{operation.name} needs {name!r}"
    if "expected" in document:
        return _of_expected(document["expected"], document["dtypes"], operation.outputs)
    return None


def _of_expected(
    expected: Mapping[str, Mapping[str, Any]], dtypes: list[str], outputs: tuple[str, ...]
) -> tuple[str, str] | None:
    for dtype in dtypes or ["all"]:
        if dtype not in expected and "all" not in expected:
            return "/expected", f"there are no values for {dtype}, nor for 'all'"
    for dtype, tensors in expected.items():
        if outputs[0] not in tensors:
            return f"/expected/{dtype}", f"the first output, {outputs[0]!r}, is missing"
        for name in tensors:
            if name not in outputs:
                return f"/expected/{dtype}/{name}", f"there is no such output; there are {', '.join(outputs)}"
    return None

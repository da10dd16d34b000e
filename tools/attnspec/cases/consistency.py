"""Contradictions in a case file that no schema sees: its parts must fit each other and the table of operations."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, cast

from attnspec.contract import OPERATIONS


class _Stored(NamedTuple):
    """Dtype that a document gives a tensor, before its numbers are read."""

    dtype: str


def contradiction(document: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the JSON pointer and a sentence on the first contradiction in a case that follows the schema, or None."""
    operation = OPERATIONS.get(document["operation"])
    if operation is None:
        return "/operation", f"there is no operation {document['operation']!r}; there are {', '.join(OPERATIONS)}"
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
    found = _memory_order_error(document["inputs"], document.get("presentation", {}))
    if found is None and "changed_argument" in document:
        found = _changed_argument_error(document)
    if found is None and "expected" in document:
        required = operation.required({name: _Stored(tensor["dtype"]) for name, tensor in document["inputs"].items()})
        found = _expected_error(document["expected"], document["dtypes"], required, operation.outputs)
    found = found or _generated_error(document)
    return found or _sample_error(document.get("expected", {}), document.get("sample", {}))


def _generated_error(document: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the first thing that a case with generated inputs cannot have: such inputs are never in memory whole."""
    generated = [name for name, tensor in document["inputs"].items() if "generator" in tensor]
    if not generated:
        return None
    for part in ("rejects", "properties", "presentation", "changed_argument", "printed"):
        if part in document:
            return f"/{part}", f"a case with a generated input ({generated[0]!r}) has none"
    for dtype, tensors in document["expected"].items():
        if dtype != "all":
            return f"/expected/{dtype}", "generated inputs are exact in every dtype, so that one golden is for all"
        for name in tensors:
            if name not in document.get("sample", {}):
                return "/sample", f"the output {name!r} is not sampled; all outputs are where an input is generated"
    return None


def _expected_error(
    expected: Mapping[str, Mapping[str, Any]], dtypes: list[str], required: tuple[str, ...], outputs: tuple[str, ...]
) -> tuple[str, str] | None:
    for dtype in dtypes or ["all"]:
        if dtype not in expected and "all" not in expected:
            return "/expected", f"there are no values for {dtype}, nor for 'all'"
    for dtype, tensors in expected.items():
        for name in required:
            if name not in tensors:
                return f"/expected/{dtype}", f"the output {name!r}, which is required, is missing"
        for name in tensors:
            if name not in outputs:
                return f"/expected/{dtype}/{name}", f"there is no such output; there are {', '.join(outputs)}"
    return None


_REPEATED_ALONG = {
    "broadcast": (0, "entries along the first axis"),
    "heads_broadcast": (1, "heads"),
    "tokens_broadcast": (-2, "tokens"),
    "features_broadcast": (-1, "entries along the last axis"),
}
"""Layouts in which one part of memory stands for all along an axis, and what there are several of."""


def _memory_order_error(inputs: Mapping[str, Any], memory_order: Mapping[str, str]) -> tuple[str, str] | None:
    for name, layout in memory_order.items():
        pointer = f"/presentation/{name}"
        if name not in inputs:
            return pointer, f"there is no such input; there are {', '.join(inputs)}"
        if layout == "tokens_broadcast" and len(inputs[name]["shape"]) < 2:
            return pointer, "tokens_broadcast is for tensors of rank 2 or more"
        if layout in ("heads_last", "heads_last_gapped", "heads_broadcast") and len(inputs[name]["shape"]) != 4:
            return pointer, f"{layout} is for tensors of rank 4"
        if "data" not in inputs[name]:
            return pointer, "a generated input lies in memory as usual"
        if layout in _REPEATED_ALONG:
            axis, several = _REPEATED_ALONG[layout]
            rank = len(inputs[name]["shape"])
            if not all(map(_is_repeated, _parts_at(inputs[name]["data"], axis if axis >= 0 else rank + axis))):
                return pointer, f"{layout} is for tensors with several {several}, all of them equal"
        if layout == "one_number" and len(_numbers(inputs[name]["data"])) != 1:
            return pointer, "one_number is for tensors with elements, all of them equal"
    fused = [name for name, layout in memory_order.items() if layout == "fused"]
    for name in fused:
        if sum(_dtype_and_leading_axes(inputs[name]) == _dtype_and_leading_axes(inputs[other]) for other in fused) < 2:
            return (
                f"/presentation/{name}",
                "fused is for several tensors of one dtype whose axes are equally long but for the last",
            )
    shared = [name for name, layout in memory_order.items() if layout == "shared"]
    for name in shared:
        if len(shared) < 2 or inputs[name] != inputs[shared[0]]:
            return f"/presentation/{name}", "shared is for several tensors that hold the same numbers in the same shape"
    return None


def _dtype_and_leading_axes(tensor: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the dtype and all axes but the last: tensors side by side along the last axis have them in common."""
    return tensor.get("dtype"), *tensor["shape"][:-1]


def _parts_at(data: Any, depth: int) -> Iterator[Any]:
    """Give every part of nested data at a depth; the whole at 0."""
    if depth == 0 or not isinstance(data, list):
        yield data
        return
    for part in cast("list[Any]", data):
        yield from _parts_at(part, depth - 1)


def _is_repeated(data: Any) -> bool:
    """Return whether data have several entries along the first axis, all of them equal."""
    if not isinstance(data, list):
        return False
    entries = cast("list[Any]", data)
    return len(entries) > 1 and entries.count(entries[0]) == len(entries)


def _numbers(data: Any) -> set[Any]:
    """Return every number of nested data once."""
    if not isinstance(data, list):
        return {data}
    return set[Any]().union(*map(_numbers, cast("list[Any]", data)))


def _changed_argument_error(document: Mapping[str, Any]) -> tuple[str, str] | None:
    changed, inputs, attributes = document["changed_argument"], document["inputs"], document["attributes"]
    pointer, name = "/changed_argument", changed["name"]
    if "rejects" in document:
        return pointer, "a case that must be refused has no output that could change"
    if "reversed" in changed:
        if name not in inputs:
            return f"{pointer}/name", f"only an input of the case can be reversed; there are {_listed(inputs)}"
        data = inputs[name]["data"]
        if _reversed(data) == data:
            return f"{pointer}/reversed", f"the reverse of {name!r} along every axis is {name!r} itself"
    elif name not in attributes:
        return f"{pointer}/name", f"only an attribute of the case can get a value; there are {_listed(attributes)}"
    elif attributes[name] == changed["value"]:
        return f"{pointer}/value", f"{name!r} has this value in the case itself"
    return None


def _listed(arguments: Mapping[str, Any]) -> str:
    return ", ".join(arguments) or "none"


def _reversed(data: Any) -> Any:
    """Return nested lists in reverse along every axis."""
    if not isinstance(data, list):
        return data
    return [_reversed(entry) for entry in reversed(cast("list[Any]", data))]


def _sample_error(expected: Mapping[str, Mapping[str, Any]], sample: Mapping[str, list[int]]) -> tuple[str, str] | None:
    for name, indices in sample.items():
        for dtype, tensors in expected.items():
            if name not in tensors:
                return f"/sample/{name}", f"there is no such output under /expected/{dtype}"
        if not expected:
            return f"/sample/{name}", "there are no expected values to sample"
        if any(second <= first for first, second in pairwise(indices)):
            return f"/sample/{name}", "the indices must rise"
    return None

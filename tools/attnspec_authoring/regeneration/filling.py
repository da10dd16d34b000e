"""From an authored case to the JSON of its golden file: the certified values are filled in here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attnspec.base.errors import MissingDependencyError, RecipeError
from attnspec.cases import FORMAT, Inputs
from attnspec.cases.consistency import contradiction
from attnspec.cases.tensor_json import generated_of, tensor_to_json
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import INPUT_DTYPES, follows_run, rounded_to
from attnspec_authoring.regeneration.printed import printed_to_json
from attnspec_authoring.regeneration.rows import certified_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.contract.operation import Operation
    from attnspec_authoring.recipes import AuthoredCase


def filled_document(case: AuthoredCase, *, cached: bool = True) -> dict[str, Any]:
    """Return the whole JSON document of a case; `cached` takes rows of a sampled case that were certified before.

    `RecipeError` where it contradicts the contract, or a printed number neither agrees nor names an erratum;
    `MissingDependencyError` without the oracle's arithmetic library.
    """
    document = authored_document(case)
    document["inputs"] |= {name: tensor_to_json(array) for name, array in _derived(case).items()}
    generated = generated_of(case.inputs)
    for name, tensor in generated.items():
        document["inputs"][name]["sha256"] = tensor.digest()
    if generated:
        golden = _sampled(case, document, cached=cached)
    elif case.rejects is None and case.properties is None:
        expected = _expected(case)
        document["expected"] = {
            dtype: {name: tensor_to_json(array, case.sample.get(name)) for name, array in outputs.items()}
            for dtype, outputs in expected.items()
        }
        golden = next(iter(expected.values()))
    else:
        golden = {}
    if case.printed:
        document["printed"] = [printed_to_json(entry, case, golden) for entry in case.printed]
    found = contradiction(document)
    if found is not None:
        raise RecipeError(f"{case.id}: the case contradicts itself at {found[0]}: {found[1]}.")
    return document


def authored_document(case: AuthoredCase) -> dict[str, Any]:
    """Return the part of a case's JSON that its author states, without certified values and printed claims."""
    _check(case)
    source = {"document": case.source.document, "section": case.source.section, "url": case.source.url}
    document: dict[str, Any] = {
        "format": FORMAT,
        "id": case.id,
        "revision": case.revision,
        "title": case.title,
        "operation": case.operation,
        "profile": case.profile,
        "clauses": list(case.clauses),
        "targets": list(case.targets),
        "errata": list(case.errata),
        "source": {key: value for key, value in source.items() if value is not None},
        "dtypes": list(case.dtypes),
        "inputs": _inputs(case.inputs),
        "attributes": dict(case.attributes),
        "conventions": list(case.conventions),
    }
    if case.rejects is not None:
        rejects: dict[str, Any] = {"reason": case.rejects.reason, "twin": case.rejects.counterpart}
        if case.rejects.convention is not None:
            name, choice = case.rejects.convention
            rejects["convention"] = {"name": name, "choice": choice}
        document["rejects"] = rejects
    if case.memory_order:
        document["presentation"] = dict(case.memory_order)
    if case.sample:
        document["sample"] = {name: list(indices) for name, indices in case.sample.items()}
    if case.properties is not None:
        document["properties"] = dict(case.properties)
    if case.changed_argument is not None:
        changed = case.changed_argument
        document["changed_argument"] = {
            "name": changed.name,
            **({"reversed": True} if changed.reversed else {"value": changed.value}),
        }
    return document


def _inputs(inputs: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    if not isinstance(inputs, Inputs):
        return {name: tensor_to_json(array) for name, array in inputs.items()}
    given = {name: tensor_to_json(array) for name, array in inputs.given.items()}
    return given | {name: tensor.to_json() for name, tensor in inputs.generated.items()}


def _sampled(case: AuthoredCase, document: dict[str, Any], *, cached: bool) -> dict[str, NDArray[Any]]:
    """Fill in the certified elements of a case with generated inputs, and return them."""
    try:
        values = certified_rows(case, document, cached=cached)
    except ImportError as error:
        raise MissingDependencyError(f"{error}.") from None
    document["expected"] = {
        "all": {
            name: {**tensor_to_json(elements), "shape": list(case.whole_shapes[name])}
            for name, elements in values.items()
        }
    }
    return values


def _expected(case: AuthoredCase) -> dict[str, dict[str, NDArray[Any]]]:
    """Return dtype, or ``all`` where every offered dtype holds the inputs exactly, to certified outputs."""
    if _is_exact(case):
        return {"all": _certified(case, case.inputs)}
    return {
        dtype: _certified(case, {name: rounded_to(array, dtype) for name, array in case.inputs.items()})
        for dtype in case.dtypes
    }


def _is_exact(case: AuthoredCase) -> bool:
    """Return whether every offered dtype holds the inputs exactly."""
    return all(
        np.array_equal(array, rounded_to(array, dtype), equal_nan=array.dtype.kind == "f")
        for array in case.inputs.values()
        if follows_run(array)
        for dtype in case.dtypes
    )


def _derived(case: AuthoredCase) -> dict[str, NDArray[Any]]:
    """Return the inputs that follow from those that are stated, certified."""
    if case.derived and not _is_exact(case):
        raise RecipeError(f"{case.id}: what follows from inputs is stored once; state inputs that every dtype holds.")
    found: dict[str, NDArray[Any]] = {}
    for name in case.derived:
        source = OPERATIONS[OPERATIONS[case.operation].derived[name]]
        inputs, attributes = (
            {name: value for name, value in stated.items() if name in source.arguments}
            for stated in (case.inputs, case.attributes)
        )
        found |= _evaluated(case, source.name, inputs, attributes, (name,))
    return found


def _certified(case: AuthoredCase, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return _evaluated(case, case.operation, inputs, case.attributes, case.outputs, case.sample)


def _evaluated(
    case: AuthoredCase,
    operation: str,
    inputs: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
    outputs: tuple[str, ...],
    positions: Mapping[str, tuple[int, ...]] | None = None,
) -> dict[str, NDArray[Any]]:
    import attnspec_oracle as oracle

    try:
        return oracle.evaluate(operation, inputs, attributes, outputs=outputs, positions=positions)
    except (oracle.OracleError, ValueError) as error:
        raise RecipeError(f"{case.id}: the oracle cannot compute it: {error}") from None
    except ImportError as error:
        raise MissingDependencyError(f"{error}.") from None


def _check(case: AuthoredCase) -> None:
    """Raise `RecipeError` for a case that contradicts the contract."""
    operation = OPERATIONS.get(case.operation)
    if operation is None:
        raise RecipeError(f"{case.id}: there is no operation {case.operation!r}.")
    if case.rejects is not None and case.properties is not None:
        raise RecipeError(f"{case.id} is to be refused and graded by properties; it can be only one of them.")
    if case.changed_argument is not None and case.changed_argument.reversed and case.changed_argument.value is not None:
        name = case.changed_argument.name
        raise RecipeError(f"{case.id}: {name!r} is to be reversed and to get a value; it can be only one of them.")
    _check_names(case, operation)
    for name in operation.required(case.inputs) if case.rejects is None and case.properties is None else ():
        if name not in case.outputs:
            raise RecipeError(f"{case.id}: the output {name!r} is expected and must be stored.")
    given = case.inputs.given if isinstance(case.inputs, Inputs) else case.inputs
    for name, array in given.items():
        if array.dtype.name not in INPUT_DTYPES:
            raise RecipeError(f"{case.id}: input {name!r} is {array.dtype}; author {', '.join(INPUT_DTYPES)}.")


def _check_names(case: AuthoredCase, operation: Operation) -> None:
    """Raise `RecipeError` for an argument or an output that the operation does not have, or lacks."""
    for name in (*case.inputs, *case.attributes):
        if name not in operation.arguments:
            raise RecipeError(f"{case.id}: {case.operation} has no argument {name!r}.")
    for name in case.derived:
        if name not in operation.derived or name in case.inputs:
            raise RecipeError(f"{case.id}: {name!r} is to follow from other inputs, and does not, or is stated.")
    for name in operation.required_arguments:
        if name not in case.inputs and name not in case.attributes:
            raise RecipeError(f"{case.id}: {case.operation} needs {name!r}.")
    for name in (*case.outputs, *case.sample):
        if name not in operation.outputs:
            raise RecipeError(f"{case.id}: {case.operation} has no output {name!r}.")
    for name in case.sample:
        if name not in case.outputs:
            raise RecipeError(f"{case.id}: {name!r} is sampled, but not among the outputs that are stored.")

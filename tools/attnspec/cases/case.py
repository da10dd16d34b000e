"""A golden case, as the harness holds it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnspec.cases.tensor_json import Inputs, generated_of, shapes_of, tensor_from_json
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import ANY, REFERENCE_DTYPE, RUN_DTYPE

if TYPE_CHECKING:
    from attnspec.cases.generator import Generated
    from attnspec.cases.stored_tolerances import StoredTolerances

FORMAT = 1
"""Version of the case format that this harness reads and writes."""


class Rejection(NamedTuple):
    """Expected refusal: reason, id of the valid counterpart, convention that demands it (None: all must)."""

    reason: str
    counterpart: str
    convention: tuple[str, str] | None


class ChangedArgument(NamedTuple):
    """The argument with which a case is run once more, changed alone; the first output must then change, too.

    It shows results that are kept under a key that leaves an argument out. No fixture holds the new outputs: the change
    must be so large that no right output can stay the same in any dtype of the case. One at most, so that the call
    before it is the case's own: some keep the last result alone. An attribute becomes `value`, which may be None; an
    input its own reverse along every axis.
    """

    name: str
    value: Any = None
    reversed: bool = False

    @property
    def change(self) -> str:
        """The changed argument in words."""
        return "its own reverse along every axis" if self.reversed else repr(self.value)


class Case(NamedTuple):
    """One golden case.

    Attributes
    ----------
    id, revision, title, source
        Path below the golden folder, without the suffix; raised whenever the meaning changed; one line for a reader;
        where it comes from.
    operation, profile, dtypes, conventions
        Which operation, in which group of cases, in which float dtypes (empty for a case without floats); the names of
        the conventions to which the certified values are sensitive.
    clauses, targets, errata
        Spec clauses that it exercises, mistakes that it is there to catch, errata that it bears on.
    inputs, attributes, memory_order
        The arguments of the call, and input name to its memory layout. Inputs that are `generated` are drawn each time
        they are read.
    expected, sample, thinned
        Dtype (or ``all``) to output to certified values; None for a case that is refused or graded by properties. Where
        not all elements are stored, `sample` has the flat indices, rising, of those that are, and others are NaN. A
        `thinned` output, whose whole shape it gives, has the sampled elements alone (N,), here and in all that follows:
        all outputs of a case with generated inputs, which would fill the memory.
    rejects, properties, changed_argument
        For a case that must be refused, for one that is graded by properties, and for one that is run once more.
    printed
        The numbers that the source document printed, as in the file.
    is_certified
        Whether the expected values are exact results, rounded; those of a random case are the reference's in float64,
        with its error.
    stored_tolerances
        Its tolerances, where a golden folder stores them: those of these inputs, attributes and expected values alone.
    """

    id: str
    revision: int
    title: str
    operation: str
    profile: str
    clauses: tuple[str, ...]
    targets: tuple[str, ...]
    errata: tuple[str, ...]
    source: Mapping[str, str]
    dtypes: tuple[str, ...]
    inputs: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]
    expected: Mapping[str, Mapping[str, NDArray[Any]]] | None
    sample: Mapping[str, NDArray[np.int64]]
    memory_order: Mapping[str, str]
    rejects: Rejection | None
    properties: Mapping[str, Any] | None
    changed_argument: ChangedArgument | None
    conventions: tuple[str, ...]
    printed: tuple[Mapping[str, Any], ...]
    thinned: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    is_certified: bool = True
    stored_tolerances: StoredTolerances | None = None

    @property
    def generated(self) -> Mapping[str, Generated]:
        """Generated inputs by name."""
        return generated_of(self.inputs)

    @property
    def parts(self) -> tuple[object, ...]:
        """The parts that decide what is expected of it, and within which tolerance."""
        return self.inputs, self.attributes, self.expected, self.changed_argument

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of each input, by name; nothing is drawn for it."""
        return shapes_of(self.inputs)

    @property
    def size(self) -> int:
        """How many numbers all inputs have together."""
        return sum(map(math.prod, self.shapes.values()))

    @property
    def runs(self) -> tuple[str, ...]:
        """The dtypes to run it in; ``any`` alone for a case without floats."""
        return self.dtypes or (ANY,)

    def shows(self, argument: str, dtype: str) -> bool:
        """Return whether it states an argument without which a right answer in `dtype` would be wrong.

        Where nothing is stored on that, any argument counts that is stated and has not its default.
        """
        if self.expected is None or (argument not in self.inputs and argument not in self.attributes):
            return False
        if argument in self.attributes and self.attributes[argument] == OPERATIONS[self.operation].defaults.get(
            argument
        ):
            return False
        stored = self.stored_tolerances
        return stored is None or dtype not in stored.without_effect.get(argument, ())

    def golden(self, dtype: str) -> Mapping[str, NDArray[Any]]:
        """Return the certified outputs for a run in `dtype`, as float64 (or bool) arrays by name."""
        if self.expected is None:
            return {}
        return self.expected.get(dtype) or self.expected["all"]


def run_attributes(dtype: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a run in `dtype`: one that names the dtype of the run has that name."""
    named = REFERENCE_DTYPE if dtype == ANY else dtype
    return {name: named if value == RUN_DTYPE else value for name, value in attributes.items()}


def case_from_json(document: Mapping[str, Any], *, vouched: bool = False) -> Case:
    """Read a case from JSON that follows the schema; the kinds of numbers go unchecked where a digest has `vouched`.

    Raises `ValueError`, beginning with the JSON pointer, if a tensor's data do not fill its shape or its sample.
    """
    rejects = document.get("rejects")
    convention = rejects and rejects.get("convention")
    changed = document.get("changed_argument")
    expected: Mapping[str, Any] = document.get("expected") or {}
    sample = {name: np.array(indices, dtype=np.int64) for name, indices in document.get("sample", {}).items()}
    given = document["inputs"]
    whole = {name: tuple(tensor["shape"]) for outputs in expected.values() for name, tensor in outputs.items()}
    thinned = any("generator" in tensor for tensor in given.values())
    inputs = _generated_inputs(given, vouched=vouched) if thinned else _tensors(given, "/inputs", {}, vouched=vouched)
    return Case(
        id=document["id"],
        revision=document["revision"],
        title=document["title"],
        operation=document["operation"],
        profile=document["profile"],
        clauses=tuple(document["clauses"]),
        targets=tuple(document.get("targets", ())),
        errata=tuple(document.get("errata", ())),
        source=document["source"],
        dtypes=tuple(document["dtypes"]),
        inputs=inputs,
        attributes=document["attributes"],
        expected={
            dtype: _tensors(outputs, f"/expected/{dtype}", sample, vouched=vouched, thinned=thinned)
            for dtype, outputs in expected.items()
        }
        or None,
        sample=sample,
        memory_order=document.get("presentation", {}),
        rejects=rejects
        and Rejection(rejects["reason"], rejects["twin"], convention and (convention["name"], convention["choice"])),
        properties=document.get("properties"),
        changed_argument=changed and ChangedArgument(**changed),
        conventions=tuple(document.get("conventions", ())),
        printed=tuple(document.get("printed", ())),
        thinned=whole if thinned else {},
    )


def _generated_inputs(tensors: Mapping[str, Any], *, vouched: bool) -> Inputs:
    """Read inputs of which some are generated, without drawing them."""
    from attnspec.cases.generator import generated_from_json

    given = {name: tensor for name, tensor in tensors.items() if "generator" not in tensor}
    arrays = _tensors(given, "/inputs", {}, vouched=vouched)
    generated: dict[str, Generated] = {}
    for name in tensors.keys() - given.keys():
        try:
            generated[name] = generated_from_json(tensors[name])
        except ValueError as error:
            raise ValueError(f"/inputs/{name}/generator: {error}") from None
    return Inputs(arrays, dict(sorted(generated.items())))


def _tensors(
    tensors: Mapping[str, Any],
    pointer: str,
    sample: Mapping[str, NDArray[np.int64]],
    *,
    vouched: bool,
    thinned: bool = False,
) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name, tensor in tensors.items():
        try:
            arrays[name] = tensor_from_json(tensor, sample.get(name), vouched=vouched, thinned=thinned)
        except ValueError as error:
            raise ValueError(f"{pointer}/{name}: {error}") from None
    return arrays

"""Layouts of an implementation, by name: requests are put to it in its layout, whose meaning is with the family."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.contract import FAMILIES, IN_LAYOUT, OPERATIONS
from attnspec.contract.arrangement import Arrangement, Axes, AxesOfOperations, Circumstances, Layout, Repacked
from attnspec.contract.implementation import Answer, Declined, Implementation, Malformed, Outputs, Request, Wrapped
from attnspec.contract.layout import layout_name, read_layout
from attnspec.families.lookup import family_called, family_of
from attnspec.targets.handed_out import fingerprint


def laid_out(implementation: Implementation, layout: str) -> Implementation:
    """Give an implementation of another layout the contract's; tensors that it cannot hold are `Declined`.

    `layout` is one of :data:`attnspec.contract.LAYOUTS`, perhaps with settings; UsageError if there is no such layout
    or setting. An operation whose family has no such layout is passed on as it is.
    """
    name, settings = read_layout(layout)
    if _NARROW_INDICES in settings:
        implementation = _WithNarrowIndices(implementation)
    if _NARROW_INDICES not in settings and not any(name in family_called(family).layouts() for family in FAMILIES):
        return implementation

    def arrange(
        operation: str, inputs: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any], circumstances: Circumstances
    ) -> Arrangement | Repacked | str | None:
        arranging = family_of(operation).layouts().get(name)
        reported = circumstances._replace(settings=settings)
        return None if arranging is None else arranging(operation, inputs, attributes, reported)

    return LaidOut(implementation, arrange, layout)


_NARROW_INDICES = "int32"
"""Setting of a layout under which lengths, starts and tables of pages come in int32, as most kernels want them."""


class _WithNarrowIndices(Wrapped):
    """An implementation that is given whole numbers in int32."""

    def run(self, request: Request) -> Answer:
        """Answer one request."""
        inputs = {
            name: array.astype(np.int32) if array.dtype == np.int64 else array for name, array in request.inputs.items()
        }
        return self._implementation.run(request._replace(inputs=inputs))


_AXIS = {"b": "batch entry", "h": "head"}
"""Names in messages of the axes that a layout lacks."""


class LaidOut(Wrapped):
    """An implementation behind a layout; `name` is how messages call the layout."""

    def __init__(self, implementation: Implementation, layout: Layout, name: str) -> None:
        self._layout = layout
        self._name = name
        self._repacked_here = frozenset(IN_LAYOUT.get(layout_name(name) or "", ()))
        declaration = implementation.declaration
        stay = tuple(operation for operation in declaration.operations if not self._arranges(operation))
        super().__init__(implementation, replace(declaration, requested_in=name, not_arranged=stay))
        self._calls: Counter[tuple[object, ...]] = Counter()

    def _arranges(self, operation: str) -> bool:
        """Return whether an operation has another form in the layout."""
        arranging = family_of(operation).layouts().get(layout_name(self._name) or "")
        return operation in (arranging.concerns if isinstance(arranging, AxesOfOperations) else self._repacked_here)

    def run(self, request: Request) -> Answer:
        """Call the implementation once, or once for each entry of the axes that it does not know."""
        circumstances = Circumstances(conventions=request.conventions, before=self._times_before(request))
        arrangement = self._layout(request.operation, request.inputs, request.attributes, circumstances)
        if arrangement is None:
            return self._implementation.run(request)
        if isinstance(arrangement, str):
            return Declined(f"cannot be put in the layout {self._name}: {arrangement}")
        if isinstance(arrangement, Repacked):
            return self._run_repacked(request, arrangement)
        axes = _axes_of_inputs(request, arrangement)
        reason = _cannot_arrange(request, axes)
        if reason is not None:
            return Declined(f"cannot be put in the layout {self._name}: {reason}")
        lengths = _lengths_of_calls(request, arrangement, axes)
        attributes = request.attributes if arrangement.attributes is None else arrangement.attributes
        answers: list[Outputs] = []
        for indices in itertools.product(*map(range, lengths.values())):
            entry = dict(zip(lengths, indices, strict=True))
            inputs = {
                name: _as_compact_as(array, axes[name].to_layout(array, entry)) if name in axes else array
                for name, array in request.inputs.items()
            }
            call = request._replace(inputs=inputs, attributes=attributes)
            answer = self._implementation.run(call)
            if not isinstance(answer, Outputs):
                return answer
            edited = _edited(request, call, axes, entry)
            answers.append(answer._replace(inputs_changed=(*answer.inputs_changed, *edited)))
        return _gather(answers, tuple(lengths.values()), arrangement)

    def _times_before(self, request: Request) -> int:
        """Return how often the same request came before, since it is put with other arguments."""
        if request.operation not in self._repacked_here:
            return 0
        contents = [hash(array.tobytes()) for array in request.inputs.values()]
        key = (request.operation, request.dtype, *contents, repr(request.attributes))
        self._calls[key] += 1
        return self._calls[key] - 1

    def _run_repacked(self, request: Request, repacked: Repacked) -> Answer:
        """Call the implementation once, with other arguments, and put its outputs back."""
        answer = self._implementation.run(
            request._replace(inputs=repacked.inputs, attributes=dict(repacked.attributes))
        )
        if not isinstance(answer, Outputs):
            return answer
        restored = repacked.restore(answer.values)
        if isinstance(restored, str):
            return Malformed(f"in the layout {self._name}, {restored}")
        return answer._replace(values=restored)


def _axes_of_inputs(request: Request, arrangement: Arrangement) -> dict[str, Axes]:
    axes: dict[str, Axes] = {}
    broadcasting = OPERATIONS[request.operation].broadcasting
    for name, array in request.inputs.items():
        if name in arrangement.tensors:
            full = arrangement.tensors[name]
            fewest = max(len(full.contract) - 2, 0)
            broadcasts = name in broadcasting and fewest <= array.ndim < len(full.contract)
            axes[name] = full.of_rank(array.ndim) if broadcasts else full
    return axes


def _cannot_arrange(request: Request, axes: Mapping[str, Axes]) -> str | None:
    """Return the fault in the shapes that keeps the request from being arranged, or None.

    Arranging such a request would hide its fault, and the implementation could not refuse it.
    """
    lengths: dict[str, tuple[int, str]] = {}
    broadcasting = OPERATIONS[request.operation].broadcasting
    for name, known in axes.items():
        shape = request.inputs[name].shape
        if len(shape) != len(known.contract):
            return f"{name} has rank {len(shape)}"
        for letter in known.called_once_each:
            length = shape[known.contract.index(letter)]
            if length == 1 and name in broadcasting:
                continue
            axis = _AXIS.get(letter, "matrix")
            expected, first = lengths.setdefault(letter, (length, name))
            if length != expected:
                return f"it takes one {axis} at a time, and {first} has {expected} where {name} has {length}"
            if length == 0:
                return f"it takes one {axis} at a time, and {name} has none"
    return None


def _lengths_of_calls(request: Request, arrangement: Arrangement, axes: Mapping[str, Axes]) -> dict[str, int]:
    """Return the length of every axis that the layout lacks, in the contract's order."""
    letters = max((known.called_once_each for known in arrangement.tensors.values()), key=len)
    return {
        letter: max(
            request.inputs[name].shape[known.contract.index(letter)]
            for name, known in axes.items()
            if letter in known.called_once_each
        )
        for letter in letters
    }


def _as_compact_as(original: NDArray[Any], view: NDArray[Any]) -> NDArray[Any]:
    """Return `view`, copied to one piece of memory if `original` is one.

    Ordinary tensors stay ordinary in every layout: an implementation that reads memory in C order must not fail for the
    way in which its tensors were arranged.
    """
    if view.flags.c_contiguous or not original.flags.c_contiguous:
        return view
    compact = np.array(view, order="C")
    compact.flags.writeable = original.flags.writeable
    return compact


def _edited(request: Request, call: Request, axes: Mapping[str, Axes], entry: Mapping[str, int]) -> tuple[str, ...]:
    """Name the inputs that the call changed in a copy, which the harness cannot see for itself."""
    return tuple(
        name
        for name, known in axes.items()
        if fingerprint(call.inputs[name]) != fingerprint(known.to_layout(request.inputs[name], entry))
    )


def _gather(answers: Sequence[Outputs], lengths: tuple[int, ...], arrangement: Arrangement) -> Answer:
    """Put the outputs of all calls together, with the contract's axes."""
    gathered: dict[str, NDArray[Any]] = {}
    for name in dict.fromkeys(name for answer in answers for name in answer.values):
        parts = [answer.values[name] for answer in answers if name in answer.values]
        if len(parts) < len(answers):
            return Malformed(f"{name} was returned in {len(parts)} of {len(answers)} calls for one case")
        kinds = list(dict.fromkeys((part.dtype.name, part.shape) for part in parts))
        if len(kinds) > 1:
            (dtype, shape), (other_dtype, other_shape) = kinds[:2]
            return Malformed(
                f"{name} differs between the calls for one case: "
                f"{dtype} of shape {shape}, then {other_dtype} of shape {other_shape}"
            )
        if name in arrangement.tensors:
            parts = [arrangement.tensors[name].from_layout(part) for part in parts]
        gathered[name] = np.stack(parts).reshape(lengths + parts[0].shape)
    changed = dict.fromkeys(name for answer in answers for name in answer.inputs_changed)
    overwritten = dict.fromkeys(name for answer in answers for name in answer.overwritten)
    return Outputs(gathered, tuple(changed), tuple(overwritten))

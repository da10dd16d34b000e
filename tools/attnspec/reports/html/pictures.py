"""Numbers behind the pictures of one case: inputs, expected and returned outputs, and attended keys."""

import base64
import binascii
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import Case
from attnspec.contract import OPERATIONS
from attnspec.contract.dtypes import FLOAT_DTYPES, numpy_dtype
from attnspec.contract.operation import Operation
from attnspec.families.lookup import family_of
from attnspec.grading import MustRefuse, Run, Values, compare

_WHERE_NOTHING_IS_EXPECTED = str.maketrans("rw", "ad")
"""Verdicts are right, wrong and open; of an output that is not graded, elements agree, differ, or are open."""


@dataclass(frozen=True)
class Window:
    """Part of a tensor that is drawn: `offsets` and `lengths` along each axis of the whole `shape`."""

    shape: tuple[int, ...]
    offsets: tuple[int, ...]
    lengths: tuple[int, ...]

    def cut(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the part of an array of the whole shape."""
        return array[self.slices]

    @property
    def slices(self) -> tuple[slice, ...]:
        """The part along each axis."""
        return tuple(slice(start, start + length) for start, length in zip(self.offsets, self.lengths, strict=True))


def window_round(
    shape: Sequence[int],
    centre: Sequence[int],
    most: int,
    within: tuple[Sequence[int], Sequence[int]] | None = None,
) -> Window:
    """Return a part of at most `most` elements that holds the element `centre`, halving the longest axis in turn.

    Too few indices in `centre` are filled up with 0. `within` holds offsets and lengths of the known part; None: all.
    """
    offsets, lengths = map(list, within or ([0] * len(shape), shape))
    while math.prod(lengths) > max(most, 1):
        axis = lengths.index(max(lengths))
        length = lengths[axis] // 2
        middle = (centre[axis] if axis < len(centre) else 0) - length // 2
        offsets[axis] = min(max(offsets[axis], middle), offsets[axis] + lengths[axis] - length)
        lengths[axis] = length
    return Window(tuple(shape), tuple(offsets), tuple(lengths))


class Pictures:
    """Pictures of one case, of at most `most` elements a tensor; a larger one is cropped round the worst element."""

    def __init__(self, case: Case, most: int) -> None:
        self._case = case
        self._most = most
        self._operation = OPERATIONS[case.operation]
        family = family_of(case.operation)
        self._attendable, self._attended_axis = family.attendable(case), family.attended_axis

    def inputs(self, worst: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Return the inputs in the order of the contract, cropped round the origin of the worst element."""
        drawn: list[dict[str, Any]] = []
        for name in self._operation.arguments:
            array = self._case.inputs.get(name)
            if array is not None:
                window = window_round(array.shape, self._centre(name, array.ndim, worst), self._most)
                drawn.append({**self._axes(name, window), "values": numbers(window.cut(array))})
        return drawn

    def expected(self) -> list[dict[str, Any]]:
        """Return the golden outputs of a case without a kept answer."""
        outputs = self._case.golden("float64" if "float64" in self._case.runs else self._case.runs[0])
        windows = {name: window_round(array.shape, (), self._most) for name, array in outputs.items()}
        return [
            self._output(name, windows[name], expected=array, excluded=self._excluded(name, array.shape))
            for name, array in outputs.items()
        ]

    def compared(self, dtype: str, result: Mapping[str, Any], conventions: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return expected and returned outputs in one dtype, compared output by output."""
        got = {name: decoded for name, entry in result.get("got", {}).items() if (decoded := decode(entry))}
        run = self._run(dtype, conventions)
        expected = run.expected if run is not None and isinstance(run.expected, Values) else None
        if expected is None:
            expects_nothing = run is not None and isinstance(run.expected, MustRefuse)
            return [self.alone(name, part) for name, part in got.items()] if expects_nothing or run is None else []
        assert run is not None
        worst = result["worst"]
        names = [name for name in self._operation.outputs if name in expected.outputs]
        drawn: list[dict[str, Any]] = []
        for name in names:
            expected_output = np.asarray(expected.outputs[name])
            hatching = self._excluded(name, expected_output.shape)
            centre: Sequence[int] = worst["index"] if worst is not None and worst["output"] == name else ()
            part = got.get(name)
            if part is None or part[0].shape != expected_output.shape:
                window = window_round(expected_output.shape, centre, self._most)
                drawn.append(self._output(name, window, expected=expected_output, excluded=hatching))
                if part is not None:
                    drawn[-1]["got_alone"] = self.alone(name, part)
                continue
            window = window_round(expected_output.shape, centre, self._most, (part[0].offsets, part[0].lengths))
            drawn.append(self._compared(name, window, part, run, expected, hatching))
        for name, part in got.items():
            if name not in names:
                drawn.append(self._beside(name, part, run))
        return drawn

    def alone(self, name: str, part: tuple[Window, NDArray[Any]]) -> dict[str, Any]:
        """Return an output that came back and that cannot be compared with anything."""
        known, values = part
        window = window_round(known.shape, known.offsets, self._most, (known.offsets, known.lengths))
        starts = (start - begin for start, begin in zip(window.offsets, known.offsets, strict=True))
        drawn = tuple(slice(start, start + length) for start, length in zip(starts, window.lengths, strict=True))
        return self._output(name, window, got=values[drawn])

    def attended(self) -> dict[str, Any] | None:
        """Return the keys that each query may attend, or None where the case is not about that."""
        attendable = self._attendable
        if attendable is None or not attendable.size:
            return None
        window = window_round(attendable.shape, (), self._most)
        over_attended = next(name for name in self._operation.outputs if self._is_over_attended(name))
        return {**self._axes(over_attended, window), "attendable": bits(window.cut(attendable))}

    def _beside(self, name: str, part: tuple[Window, NDArray[Any]], run: Run) -> dict[str, Any]:
        """Return an output that the case does not store, compared with its float64 computation."""
        assert run.bound is not None
        try:
            value = np.asarray(run.bound.of(name, run.bound_index).value)
        except KeyError:
            return self.alone(name, part)
        if value.shape != part[0].shape:
            return self.alone(name, part)
        window = window_round(value.shape, (), self._most, (part[0].offsets, part[0].lengths))
        decided = run.bound.by_convention.get(name)
        computed = Values({name: value}, {} if decided is None else {name: decided})
        drawn = self._compared(name, window, part, run, computed, self._excluded(name, value.shape))
        return {**drawn, "verdicts": drawn["verdicts"].translate(_WHERE_NOTHING_IS_EXPECTED)}

    def _compared(
        self,
        name: str,
        window: Window,
        part: tuple[Window, NDArray[Any]],
        run: Run,
        expected: Values,
        hatching: NDArray[np.bool_] | None,
    ) -> dict[str, Any]:
        """Return an output compared with values; its verdict is made of the same facts on its elements."""
        assert run.bound is not None
        known, values = part
        expected_output = np.asarray(expected.outputs[name]).astype(np.float64)
        if name in expected.sample:
            # An output that is not stored is shown as it is computed.
            stored = np.zeros(expected_output.size, np.bool_)
            stored[expected.sample[name]] = True
            expected_output = np.where(
                stored.reshape(expected_output.shape), expected_output, run.bound.of(name, run.bound_index).value
            )
        given = expected_output.copy()
        given[known.slices] = values
        with np.errstate(all="ignore"):
            compared = compare(run, expected, name, given, run.bound_index)
            error = np.abs(given - expected_output)
        ratios, tolerance = np.full(expected_output.shape, -1.0), np.zeros(expected_output.shape)
        tolerance[...] = run.bound.error(name, run.bound_index)
        elements = slice(None) if compared.sample is None else compared.sample
        ratios.flat[elements], tolerance.flat[elements] = compared.ratios.ravel(), compared.tolerance.ravel()
        error = np.where(ratios == 0, 0.0, np.where(np.isnan(error), np.inf, error))
        seen = window.cut(ratios)
        wrong = seen > 1
        drawn = self._output(name, window, expected=expected_output, got=window.cut(given), excluded=hatching)
        return {
            **drawn,
            "error": numbers(window.cut(error), 3),
            "tolerance": numbers(window.cut(tolerance), 3),
            "verdicts": "".join(np.where(wrong, "w", np.where(seen < 0, "o", "r")).ravel().tolist()),
            "worst": int(seen.argmax()) if wrong.any() else None,
        }

    def _output(
        self,
        name: str,
        window: Window,
        *,
        expected: NDArray[Any] | None = None,
        got: NDArray[Any] | None = None,
        excluded: NDArray[np.bool_] | None = None,
    ) -> dict[str, Any]:
        return {
            **self._axes(name, window),
            "expected": None if expected is None else numbers(window.cut(expected)),
            "got": None if got is None else numbers(got),
            "excluded": None if excluded is None else bits(window.cut(excluded)),
        }

    def _is_over_attended(self, name: str) -> bool:
        """Return whether an output has an element for each key, or whatever else may be attended."""
        return self._operation.axes[name][-1:] == (self._attended_axis,)

    def _excluded(self, name: str, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
        """Return the elements of an output that belong to excluded keys, or None for an output without any."""
        attendable = self._attendable
        if attendable is None or not self._is_over_attended(name) or shape != attendable.shape or attendable.all():
            return None
        return ~attendable

    def _axes(self, name: str, window: Window) -> dict[str, Any]:
        return {
            "name": name,
            "axes": axes_of(self._operation, name, len(window.shape)),
            "shape": list(window.shape),
            "offsets": list(window.offsets),
            "lengths": list(window.lengths),
        }

    def _centre(self, name: str, rank: int, worst: Mapping[str, Any] | None) -> list[int]:
        """Return the indices of an input's element at the position of the worst one, axis by axis."""
        if worst is None:
            return []
        index = worst["index"]
        along = dict(zip(axes_of(self._operation, worst["output"], len(index)), index, strict=True))
        return [along.get(axis, 0) for axis in axes_of(self._operation, name, rank)]

    def _run(self, dtype: str, conventions: Mapping[str, str]) -> Run | None:
        from attnspec.runner.planning import Resolved, prepare

        if self._case.properties is not None or dtype not in self._case.runs:
            return None
        resolved = Resolved(conventions).choices_of_run(self._case, dtype)
        with np.errstate(all="ignore"):
            return prepare(self._case, [dtype], resolved)[dtype]


def axes_of(operation: Operation, name: str, rank: int) -> list[str]:
    """Return the names of a tensor's axes; one of lower rank that broadcasts has the last ones."""
    known = operation.axes[name]
    if len(known) == rank or (name in operation.broadcasting and len(known) > rank):
        return list(known[len(known) - rank :])
    return [f"axis {axis}" for axis in range(rank)]


def decode(got: Mapping[str, Any]) -> tuple[Window, NDArray[Any]] | None:
    """Return window and array of a returned tensor in report.json; None if it contradicts itself."""
    shape = tuple(got["shape"])
    crop = got["crop"] or {"offsets": [0] * len(shape), "shape": shape}
    offsets, lengths = tuple(crop["offsets"]), tuple(crop["shape"])
    if not len(shape) == len(offsets) == len(lengths):
        return None
    if any(start + length > whole for start, length, whole in zip(offsets, lengths, shape, strict=True)):
        return None
    try:
        dtype = numpy_dtype(got["dtype"]) if got["dtype"] in FLOAT_DTYPES else np.dtype(got["dtype"])
        values = np.frombuffer(base64.b64decode(got["data"], validate=True), dtype.newbyteorder("<")).reshape(lengths)
    except (TypeError, ValueError, binascii.Error):
        return None
    if values.dtype.kind not in "biuf" and values.dtype.name != "bfloat16":
        return None
    return Window(shape, offsets, lengths), values


def numbers(array: NDArray[Any], digits: int = 7) -> list[float | int | str]:
    """Return the elements as JSON numbers of a few digits; ``nan``, ``inf`` and ``-inf`` where there are none."""
    if array.dtype.kind in "biu":
        return [int(value) for value in array.ravel()]
    return [_number(value, digits) for value in array.astype(np.float64).ravel().tolist()]


def bits(array: NDArray[np.bool_]) -> str:
    """Return truth values as a string of 0 and 1."""
    return "".join("1" if value else "0" for value in array.ravel().tolist())


def _number(value: float, digits: int) -> float | int | str:
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded

"""Evidence of one run: the outputs that came back, compared with those of a mistake of the catalogue.

Numbers agree when they lie as close as two computations of the same thing do: within a few times the tolerance of the
case, or within a few dozen roundings of the largest number of their row, since the tolerance knows the right
computation only and a wrong one has errors of its own size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from attnspec.bounds import precision_of
from attnspec.contract.convention import Settles
from attnspec.contract.dtypes import HALF_PRECISION
from attnspec.diagnosis.choosing import gives_other_numbers, is_finite
from attnspec.diagnosis.mistake_outputs import mistake_outputs
from attnspec.grading import InInterval, Values, in_interval, left_open

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from attnspec.runner import Result
    from attnspec_mistakes import Mistake

_ROUNDINGS = 64
_ROUNDINGS_IN_HALF_PRECISION = 2
_TOLERANCES = 16
_TOLERANCES_IN_HALF_PRECISION = 2

_OF_ERROR = 2.0**-16
"""Share of a row's error that may have come otherwise, such as of a number that passed through float32 on the way."""

_NEARLY = 2.0**-18
"""Distance beside the largest number of a row that a score loses to -1e9 beside it, in float64 some 30 times over."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of a mistake with the outputs of one run.

    `matches`: it gives the wrong elements of the outputs that matter and leaves the right ones right; these are the
    expected outputs where one of them is wrong, else those and all other wrong ones. `matches_all`: every element of
    every output. `error`: largest distance over the wrong elements that matter, 1 being the most that agrees.
    `decided`: some element speaks for or against it; NaN on one side does not, since it takes other ways through two
    programs that make the same mistake. `by_numbers`: a wrong number agrees, beside NaN. `acts`: it makes anything of
    this run wrong.
    """

    matches: bool
    matches_all: bool
    error: float
    decided: bool = True
    by_numbers: bool = True
    acts: bool = True


_NOT_COMPUTED = Agreement(False, False, np.inf, decided=False, by_numbers=False, acts=False)


class _Compared(NamedTuple):
    """Counts of elements for one output of a mistake beside the output of the run.

    `wrong` are compared and `equal` agree; `broken` are right in the run only; `nan` are wrong and NaN in both;
    `one_sided` are NaN in one alone. `error` is the largest distance over `wrong`; `fails_too`: both err in one
    element.
    """

    wrong: int
    equal: int
    broken: int
    nan: int
    one_sided: int
    error: float
    fails_too: bool


class Likeness(NamedTuple):
    """Likeness of a mistake and a run over wrong elements, from 0 to 1, each a mean over expected outputs.

    `elements`: those wrong in both over elements wrong in either; a mean, for few numbers may say as much as many.
    `numbers`: elements wrong in both with the same number over elements wrong in the run.
    """

    elements: float
    numbers: float


Value = TypeVar("Value")


class _Kept(dict[str, Value]):
    """Cache by output, filled on first access: most questions are about one output alone."""

    def __init__(self, find: Callable[[str], Value]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, name: str) -> Value:
        """Compute and keep the value for an output."""
        found = self[name] = self._find(name)
        return found


def _by_output(find: Callable[[Evidence, str], Value]) -> cached_property[Mapping[str, Value]]:
    """Make a method of one output a property: the mapping of output names to its values, each computed once."""
    return cached_property(lambda evidence: _Kept(partial(find, evidence)))


class Evidence:
    """Evidence of one run that was graded on its values; its result has outputs."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self._agreements: dict[tuple[str, bool], Agreement] = {}
        self._computed: dict[str, Mapping[str, NDArray[Any]] | None] = {}

    @property
    def fails(self) -> bool:
        """Whether the run was wrong."""
        return self.result.is_wrong

    @property
    def required(self) -> tuple[str, ...]:
        """The expected outputs among those that came back."""
        return tuple(name for name in self.result.run.operation.required(self.result.case.inputs) if name in self.given)

    @cached_property
    def given(self) -> Mapping[str, NDArray[Any]]:
        """The outputs that came back, in float64."""
        assert self.result.got is not None
        return {name: array.astype(np.float64, copy=False) for name, array in self.result.got.items()}

    @property
    def wrong(self) -> Mapping[str, NDArray[np.bool_]]:
        """Output name to the elements that lie outside their tolerance; an output of the wrong shape is left out."""
        found = {name: self._wrong[name] for name in self.given}
        return {name: elements for name, elements in found.items() if elements is not None}

    @_by_output
    def _wrong(self, name: str) -> NDArray[np.bool_] | None:
        expected = self._expected_output(name)
        return None if expected is None else ~(self._meets(self.given[name], expected, name) | self._open[name][0])

    @_by_output
    def _slack(self, name: str) -> NDArray[Any]:
        """Return the distance that two computations of the same wrong thing may have, element by element."""
        half, inside = self.result.dtype in HALF_PRECISION, self.result.run.conventions.inner_dtype
        precision = precision_of(self.result.dtype, inside=inside)
        roundings = _ROUNDINGS_IN_HALF_PRECISION if half else _ROUNDINGS
        given = self.given[name]
        size = np.where(np.isfinite(given), np.abs(given), 0.0)
        largest = size.max(axis=-1, keepdims=True, initial=0.0) if given.ndim else size
        apart = np.broadcast_to(roundings * max(precision.output, precision.accumulator) * largest, given.shape)
        if self._expected_output(name) is not None:
            tolerances = _TOLERANCES_IN_HALF_PRECISION if half else _TOLERANCES
            apart = np.maximum(apart, tolerances * self._tolerance(name))
            with np.errstate(all="ignore"):
                error = np.abs(given - self._expected_output(name))
            error = np.where(np.isfinite(error), error, 0.0)
            apart = np.maximum(apart, _OF_ERROR * error.max(axis=-1, keepdims=True, initial=0.0) if given.ndim else 0)
        return np.where(np.isfinite(apart), apart, 0.0) + precision.smallest

    @cached_property
    def essential(self) -> tuple[str, ...]:
        """The outputs that a mistake must reproduce to explain this run."""
        names = tuple(self.given)
        if not self.fails:
            return names
        if any(self._matters(name) for name in self.required):
            return self.required
        return tuple(name for name in names if name in self.required or self._matters(name))

    def _matters(self, name: str) -> bool:
        """Return whether an output is wrong in elements of which the catalogue speaks."""
        return self._wrong[name] is None or bool(self._wrong_in_the_catalogue(name).any())

    def agreement(self, mistake: Mistake, *, whole: bool = True) -> Agreement:
        """Return how well a mistake reproduces the run; with `whole`, in every output, not only those that matter.

        Undecided where it cannot be computed, or where only values decided by a declared convention are wrong: the
        catalogue is normative, and says nothing of these.
        """
        if (mistake.id, whole) not in self._agreements:
            self._agreements[mistake.id, whole] = self._agreement(mistake, whole=whole)
        return self._agreements[mistake.id, whole]

    def _agreement(self, mistake: Mistake, *, whole: bool) -> Agreement:
        computed = self.computed(mistake)
        if computed is None or (self.fails and not any(map(self._matters, self.given))):
            return _NOT_COMPUTED
        apart = self.result.run.family.empty(self.result.run.operation.name, computed)
        names = [name for name in computed if name in (self.given if whole else self.essential)]
        compared = {name: self._compared(name, computed[name], apart.get(name)) for name in names}
        essential = [compared[name] for name in self.essential if name in compared]
        if not essential:
            return _NOT_COMPUTED
        wrong, equal, broken, nan = (
            sum(getattr(entry, of) for entry in essential) for of in ("wrong", "equal", "broken", "nan")
        )
        in_all = all(entry.wrong == entry.equal and not entry.broken for entry in compared.values())
        error = max(entry.error for entry in essential)
        if not self.fails:
            return Agreement(in_all, in_all, error)
        if any(entry.fails_too for entry in essential):
            decided = bool(wrong or broken or (nan and not any(entry.one_sided for entry in essential)))
            matches = decided and wrong == equal and not broken
            if decided and not matches and gives_other_numbers(self.result):
                return replace(_NOT_COMPUTED, acts=True)
            return Agreement(matches, matches and in_all, error, decided, by_numbers=wrong > 0)
        # One that would pass explains no failure; the effect of NaN among the inputs is not known.
        acts = any(self._fails_in(name, computed[name]) for name in names)
        return Agreement(False, False, np.inf, decided=bool(wrong or broken or is_finite(self.result)), acts=acts)

    def agrees_where_something_is_left(self, mistake: Mistake) -> bool:
        """Return whether wrong elements are nearly those of a mistake, but where it leaves nothing.

        Conventions decide these; and numbers that are added instead of minus infinity take digits with them.
        """
        computed = self.computed(mistake)
        if computed is None:
            return False
        apart = self.result.run.family.empty(self.result.run.operation.name, computed)
        found = [(name, self._wrong[name]) for name in self.required]
        return all(
            wrong is not None
            and name in computed
            and not (wrong & ~apart.get(name, np.False_) & ~self._is_nearly(name, computed[name])).any()
            for name, wrong in found
        )

    def _is_nearly(self, name: str, computed: NDArray[Any]) -> NDArray[np.bool_]:
        given = self.given[name]
        with np.errstate(all="ignore"):
            nearly = np.abs(given - computed) <= _NEARLY * np.abs(given).max(axis=-1, keepdims=True, initial=0.0)
        return nearly | (self._distances(name, computed) <= 1)

    def computed(self, mistake: Mistake) -> Mapping[str, NDArray[Any]] | None:
        """Return a mistake's outputs under the declared conventions, in float64; None if not computable."""
        if mistake.id not in self._computed:
            run = self.result.run
            computed = mistake_outputs(mistake, run, before=int(self.result.same_bits is False))
            if computed is not None:
                computed = {name: array.astype(np.float64, copy=False) for name, array in computed.items()}
                if run.bound is not None and run.conventions:
                    computed = run.family.computed_under(computed, run.conventions, run.bound)
            self._computed[mistake.id] = computed
        return self._computed[mistake.id]

    def likeness(self, mistake: Mistake) -> Likeness | None:
        """Return how alike a mistake is in its wrong elements; None where no expected output is wrong.

        A mistake that cannot be computed where something went wrong is not alike at all. An output of the wrong shape
        is wrong in all elements; a mistake that gives it a wrong shape, too, is wrong in the same ones.
        """
        if not any(found is None or found.any() for found in map(self._wrong.__getitem__, self.required)):
            return None
        computed = self.computed(mistake) or {}
        alike = [self._likeness_in(name, computed.get(name)) for name in self.required]
        elements = [entry.elements for entry in alike if entry is not None]
        numbers = [
            entry.numbers
            for name, entry in zip(self.required, alike, strict=True)
            if entry is not None and ((wrong := self._wrong[name]) is None or wrong.any())
        ]
        return Likeness(sum(elements) / len(elements), sum(numbers) / len(numbers))

    def _likeness_in(self, name: str, computed: NDArray[Any] | None) -> Likeness | None:
        """Return how alike a mistake is in one output; None where that is right in both."""
        ours, expected = self._wrong[name], self._expected
        golden = None if expected is None else expected.outputs.get(name)
        if computed is None or golden is None:
            return Likeness(0.0, 0.0)
        if ours is None or computed.shape != golden.shape:
            both = ours is None and computed.shape != golden.shape
            same = (
                both and computed.shape == self.given[name].shape and bool((self._distances(name, computed) <= 1).all())
            )
            return Likeness(float(both), float(same))
        theirs = ~(self._meets(computed, golden, name) | self._open[name][0])
        either = int((ours | theirs).sum())
        if not either:
            return None
        equal = ours & theirs & (self._distances(name, computed) <= 1)
        return Likeness(float((ours & theirs).sum()) / either, float(equal.sum()) / max(int(ours.sum()), 1))

    def _wrong_in_the_catalogue(self, name: str) -> NDArray[np.bool_]:
        """Return the wrong elements that no convention decides otherwise than the catalogue does."""
        wrong = self._wrong[name]
        assert wrong is not None
        return wrong & ~self._left_open(name)

    def _fails_in(self, name: str, computed: NDArray[Any]) -> bool:
        """Return whether a mistake's output is wrong anywhere."""
        expected = self._expected_output(name)
        if expected is None or expected.shape != computed.shape:
            return True
        return bool((~self._meets(computed, expected, name) & ~self._left_open(name)).any())

    def _compared(self, name: str, computed: NDArray[Any], empty: NDArray[np.bool_] | None) -> _Compared:
        """Compare an output of a mistake with the output of the run.

        Rows that a convention may decide, of the case or of the mistake's result, count only where nothing else is
        wrong; elements for which nothing is expected, or NaN on one side, never do.
        """
        given = self.given[name]
        if given.shape != computed.shape:
            return _Compared(1, 0, 1, 0, 0, np.inf, fails_too=True)
        of_given, of_computed, unknown = np.isnan(given), np.isnan(computed), self._left_open(name)
        all_wrong = self._wrong[name] is None
        wrong = np.ones(given.shape, dtype=np.bool_) if all_wrong else self._wrong_in_the_catalogue(name)
        distances = self._distances(name, computed)
        near = distances <= 1
        one_sided = of_given ^ of_computed
        numbers = wrong & ~of_given & ~of_computed
        bound, expected = self.result.run.bound, self._expected_output(name)
        apart = np.zeros(given.shape, dtype=np.bool_) if empty is None else empty
        of_case = np.False_ if bound is None or expected is None else bound.by_convention.get(name, np.False_)
        apart = apart | of_case
        if (numbers & ~apart).any():
            numbers &= ~apart
        if empty is not None and self.result.run.conventions.departing[Settles.RESULTS]:
            # What a declared convention puts where the mistake alone leaves nothing is not known, but where it agrees.
            numbers &= ~empty | of_case | near
        right = ~wrong & ~unknown
        # NaN that comes from finite inputs would be seen.
        broken = right & ~near & (~one_sided | of_computed if is_finite(self.result) else ~one_sided)
        if self.fails:
            broken &= ~apart
        elif empty is not None and self.result.run.conventions.departing[Settles.RESULTS]:
            broken &= ~empty
        meets = None if expected is None else self._meets(computed, expected, name)
        return _Compared(
            wrong=int(numbers.sum()),
            equal=int((numbers & near).sum()),
            broken=int(broken.sum()),
            nan=int((wrong & of_given & of_computed).sum()),
            one_sided=int((one_sided & ~unknown).sum()),
            error=float(distances[numbers].max(initial=0.0)),
            fails_too=meets is None or bool((wrong & ~meets).any()),
        )

    def _meets(self, numbers: NDArray[Any], expected: NDArray[Any], name: str) -> NDArray[np.bool_]:
        with np.errstate(all="ignore"):
            near = (np.abs(numbers - expected) <= self._tolerance(name)) | (numbers == expected)
        near |= np.isnan(numbers) & np.isnan(expected)
        to_interval = self._in_interval[name]
        return near if to_interval is None else np.where(to_interval.elements, to_interval.within(numbers), near)

    def _distances(self, name: str, computed: NDArray[Any]) -> NDArray[Any]:
        given = self.given[name]
        with np.errstate(all="ignore"):
            distance = np.abs(given - computed) / self._slack[name]
        same = (given == computed) | (np.isnan(given) & np.isnan(computed)) | self._left_open(name)
        return np.where(same, 0.0, distance)

    @property
    def _expected(self) -> Values | None:
        expected = self.result.run.expected
        return expected if isinstance(expected, Values) else None

    def _expected_output(self, name: str) -> NDArray[Any] | None:
        """Return the expected output, where it has the shape of the one that came back."""
        expected = self._expected
        output = None if expected is None else expected.outputs.get(name)
        return output if output is not None and output.shape == self.given[name].shape else None

    def _tolerance(self, name: str) -> NDArray[Any]:
        run = self.result.run
        assert run.bound is not None
        return run.bound.error(name, run.bound_index)

    def _left_open(self, name: str) -> NDArray[np.bool_]:
        """Return the elements for which nothing is expected, or a declared convention requires something else."""
        return self._open[name][1]

    @_by_output
    def _in_interval(self, name: str) -> InInterval | None:
        """Return the elements that are bounded by an interval alone."""
        run, expected = self.result.run, self._expected
        if run.bound is None or expected is None or self._expected_output(name) is None:
            return None
        return in_interval(run, expected, name, run.bound_index)

    @_by_output
    def _open(self, name: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the elements with nothing expected, and those with the ones of a declared convention added."""
        run, expected, expected_output = self.result.run, self._expected, self._expected_output(name)
        unspecified = np.zeros(self.given[name].shape, dtype=np.bool_)
        if run.bound is None or expected is None or expected_output is None:
            return unspecified, unspecified
        to_interval = self._in_interval[name]
        within = None if to_interval is None else to_interval.elements & to_interval.within(self.given[name])
        for elements in (left_open(run, expected, name), within):
            if elements is not None:
                unspecified = unspecified | elements
        if name in expected.sample:
            stored = np.zeros(unspecified.size, dtype=np.bool_)
            stored[expected.sample[name]] = True
            unspecified = unspecified | ~stored.reshape(unspecified.shape)
        if expected.under is None:
            return unspecified, unspecified
        normative = run.case.golden(run.dtype).get(name)
        if normative is None:
            return unspecified, np.ones_like(unspecified)
        return unspecified, unspecified | ~(
            (expected_output == normative) | (np.isnan(expected_output) & np.isnan(normative))
        )

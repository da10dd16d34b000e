"""Selection of runs to look at: few, small, and of every kind.

An implementation may fail in thousands of runs, and a catalogue may hold hundreds of mistakes. A handful of runs from
different profiles distinguishes nearly all mistakes; the cases that a mistake breaks by its nature settle the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest

from attnspec.contract import CONVENTIONS
from attnspec.contract.dtypes import ANY, FLOAT_DTYPES
from attnspec.runner import Result
from attnspec_mistakes import Mistake

_WIDEST_FIRST = {dtype: position for position, dtype in enumerate((*FLOAT_DTYPES, ANY))}


def one_for_each_case(results: Iterable[Result]) -> list[Result]:
    """Return, of each case, the result in the widest dtype."""
    widest: dict[str, Result] = {}
    for result in results:
        known = widest.get(result.case.id)
        if known is None or _WIDEST_FIRST[result.dtype] < _WIDEST_FIRST[known.dtype]:
            widest[result.case.id] = result
    return list(widest.values())


def finite_results(results: Sequence[Result]) -> Sequence[Result]:
    """Return the results without NaN and infinity among the inputs, or all of them when there are no others.

    NaN takes other ways through two programs that make the same mistake.
    """
    finite = [result for result in results if is_finite(result)]
    return finite or results


def is_finite(result: Result) -> bool:
    """Return whether the case is not about NaN or infinity among its inputs."""
    return result.case.profile not in result.run.family.nonfinite_profiles


def spread_results(results: Iterable[Result], count: int) -> list[Result]:
    """Return `count` results, each profile in turn, small and finite cases first."""
    profiles: dict[str, list[Result]] = {}
    for result in results:
        profiles.setdefault(result.case.profile, []).append(result)
    ordered = sorted(profiles, key=lambda name: name in profiles[name][0].run.family.least_telling_profiles)
    rounds = zip_longest(*(sorted(profiles[profile], key=_weight) for profile in ordered))
    return [result for result in chain.from_iterable(rounds) if result is not None][:count]


def aimed_at(mistake: Mistake, results: Iterable[Result], count: int) -> list[Result]:
    """Return `count` results that a mistake should break: cases that target it, then those of its clause."""
    bearing = [
        result for result in results if mistake.id in result.case.targets or mistake.clause in result.case.clauses
    ]
    return sorted(bearing, key=lambda result: (mistake.id not in result.case.targets, _weight(result)))[:count]


def clause_shares(results: Sequence[Result]) -> Mapping[str, float]:
    """Map each clause to the share of the results whose case exercises it."""
    shares: dict[str, float] = {}
    for result in results:
        for clause in result.case.clauses:
            shares[clause] = shares.get(clause, 0.0) + 1 / len(results)
    return shares


def _weight(result: Result) -> tuple[bool, int]:
    return result.run.family.shows_little(result.case), result.case.size


def gives_other_numbers(result: Result) -> bool:
    """Return whether a mistake may give other numbers than the catalogue's, because a convention is declared.

    One that moves rows, or mixes them, has the normative row where another was declared; and one over another axis
    meets finite numbers where something was excluded, if these are declared for a row.
    """
    run = result.run
    if getattr(run.expected, "under", None) is not None:
        return True
    is_filled = any(CONVENTIONS[name].comes_as.get(choice) == "finite" for name, choice in run.conventions.items())
    stated = {*run.case.inputs, *run.case.attributes} - {*run.operation.required_arguments}
    return is_filled and bool(stated)

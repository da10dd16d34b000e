"""Which cheap wrong answers draws tell from right ones, how often, and how many draws a set needs for all of them.

``python tools/benchmarks/impostor_power.py`` draws sets of cases, holds every impostor against each draw, and prints
tables; ``--write`` writes a row for each operation, and the shapes, to ``spec/studies/impostors.md``. Takes some ten
minutes of processor time.
"""

from __future__ import annotations

import argparse
import statistics
from typing import TYPE_CHECKING

import numpy as np
from study import Study, add_write_option, publish, table

from attnspec.contract.dtypes import numpy_dtype, rounded_to
from attnspec.validation.one_case import run_of
from attnspec_draws import Recipe, draw, drawable
from attnspec_draws.drawing import case_of
from attnspec_draws.generators.drawn import Drawn
from attnspec_draws.generators.limits import Limits
from attnspec_draws.generators.random_cases import random_cases_of
from attnspec_draws.generators.refusing import REFUSED
from attnspec_draws.judge.certificate import DRAWS, certificate
from attnspec_draws.judge.distinguishing import DISTINGUISHED, THE_SAME, UNDECIDED, distinguish
from attnspec_draws.judge.own_inputs import passing_trivial_answers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from attnspec_draws.generators.trivial_answers import TrivialAnswer
    from attnspec_draws.judge.distinguishing import DrawReported

FORWARD = "scaled_dot_product_attention"
DTYPES = ("float32", "bfloat16")
SETS = {FORWARD: (40, 96), "scaled_dot_product_attention_backward": (4, 50), "merge_states": (10, 96)}
SETS |= {operation: (8, DRAWS) for operation in drawable() if operation not in SETS}
"""Operation to how many sets are drawn, and how many draws each has."""

DECODING, CAUSAL = frozenset({"is_causal", "window", "past_key"}), frozenset({"mask", "past_key", "softcap", "sinks"})
SHAPES: Mapping[str, tuple[dict[str, int], frozenset[str]]] = {
    "any, any features": ({}, frozenset()),
    "2 x 4 heads, 64 queries, 64 keys, 64 features": (
        {"batch": 2, "shared": 4, "group": 1, "queries": 64, "keys": 64, "width": 64, "value_width": 64, "past": 0},
        frozenset(),
    ),
    "the same, plain or causal": (
        {"batch": 2, "shared": 4, "group": 1, "queries": 64, "keys": 64, "width": 64, "value_width": 64, "past": 0},
        CAUSAL | {"window", "alibi_slopes", "key_lengths", "query_lengths", "scale"},
    ),
    "decoding, 8 heads on 2, 512 keys, 128 features": (
        {"batch": 2, "shared": 2, "group": 4, "queries": 1, "keys": 512, "width": 128, "value_width": 128, "past": 0},
        DECODING,
    ),
    "one key": ({"keys": 1, "past": 0}, frozenset()),
}
"""Shapes and what is left out of their draws."""

TOKENS, FEATURES = 512, 1024
"""As KernelBench asks for attention, with inputs that are uniform from 0 to 1; one head of its 1,024 is taken."""

RULE = 1e-2
"""Its `atol` and `rtol`."""

ABOUT = f"""
An impostor is a wrong answer that is cheap to give. A set of draws that would pass one says little of what passes it.
Every impostor is graded on each draw: it is *told apart* where an element that is graded lies more than 4 tolerances
off, *the same* where all of them lie within the error of the expected values, and *undecided* between. Elements
that owe NaN, infinity or an exact 0 are set aside. Draws of which more than 1% is not graded do not count.

Impostors that forget a feature are the same wherever a draw lacks it, which most do; the *rarest* of an operation is
told apart by the fewest draws. A set is *complete* where each impostor that differs in any of its draws is told apart
by one of them; a judge draws {DRAWS}.
"""


def reported_in_turn(operation: str, seed: str, many: int, limits: Limits) -> Iterator[DrawReported]:
    """Hold every impostor against the draws of a set, one after the other."""
    before: Mapping[str, NDArray[np.float64]] | None = None
    for number in range(many):
        # What must be refused tells no answers apart; the draw as it is right does.
        case = draw(Recipe(operation, seed, number, limits).leaving_out((REFUSED,)))
        yield distinguish(run_of(case, limits.dtype, {}), before)
        before = case.golden(limits.dtype)


def draws_until_all(reported: Sequence[DrawReported], names: Sequence[str]) -> int | None:
    """Return how many draws of a set tell every impostor apart; None where it does not."""
    left = set(names)
    for number, each in enumerate(reported, start=1):
        if each.counts:
            left -= {name for name in left if each.trivial_answers[name].telling == DISTINGUISHED}
        if not left:
            return number
    return None


def _trivial_answers(operation: str) -> tuple[TrivialAnswer, ...]:
    return random_cases_of(operation).trivial_answers[operation]


def _shares(reported: Sequence[DrawReported], trivial_answer: TrivialAnswer) -> tuple[float, float]:
    """Return the shares of draws that tell an impostor apart, and that are undecided."""
    tellings = [each.trivial_answers[trivial_answer.name].telling for each in reported if each.counts]
    said = sum(telling in (DISTINGUISHED, UNDECIDED, THE_SAME) for telling in tellings)
    return tellings.count(DISTINGUISHED) / said, tellings.count(UNDECIDED) / said


def of_operation(operation: str) -> tuple[list[tuple[object, ...]], list[str]]:
    """Draw the sets of an operation, and return a row for each dtype, and its section of all impostors."""
    many, length = SETS[operation]
    rows: list[tuple[object, ...]] = []
    shares: dict[str, dict[str, tuple[float, float]]] = {}
    for dtype in DTYPES:
        sets = [list(reported_in_turn(operation, f"power{number}", length, Limits(dtype))) for number in range(many)]
        every = [each for reported in sets for each in reported]
        known = [trivial_answer for trivial_answer in _trivial_answers(operation) if dtype in trivial_answer.dtypes]
        shares[dtype] = {trivial_answer.name: _shares(every, trivial_answer) for trivial_answer in known}
        rows.append((f"`{operation}`, {dtype}", *_row(operation, dtype, sets, shares[dtype])))
    heading = ("impostor", *(f"{dtype}, {said}" for dtype in DTYPES for said in ("told apart", "undecided")))
    every_trivial_answer = [
        (
            f"`{each.name}`: {each.sentence}",
            *(cell for dtype in DTYPES for cell in _cells(shares[dtype].get(each.name))),
        )
        for each in _trivial_answers(operation)
    ]
    return rows, [f"## `{operation}`", "", *table(heading, every_trivial_answer), ""]


def _cells(shares: tuple[float, float] | None) -> tuple[str, str]:
    """Return the shares as words; none for an impostor whose error is rounding in the dtype."""
    return ("", "") if shares is None else (f"{shares[0]:.1%}", f"{shares[1]:.1%}")


def _row(
    operation: str, dtype: str, sets: Sequence[Sequence[DrawReported]], shares: Mapping[str, tuple[float, float]]
) -> tuple[object, ...]:
    """Return how many draws count, how many sets are complete, and how many draws that takes."""
    every = [each for reported in sets for each in reported]
    tellings = [reported.telling for each in every if each.counts for reported in each.trivial_answers.values()]
    needed = [draws_until_all(reported, [*shares]) for reported in sets]
    found = sorted(number for number in needed if number is not None)
    complete = sum(certificate(operation, dtype, reported[:DRAWS]).is_complete for reported in sets)
    rarest = min(shares, key=lambda name: shares[name][0])
    return (
        len(shares),
        f"{sum(each.counts for each in every)} of {len(every)}",
        f"{tellings.count(UNDECIDED) / len(tellings):.1%}",
        f"{len(found)} of {len(sets)}",
        f"{statistics.median(found):.0f}; {found[-1]}" if found else "never",
        f"{complete} of {len(sets)}",
        f"`{rarest}`, {shares[rarest][0]:.1%}",
    )


HEADING = (
    "operation, dtype",
    "impostors",
    "draws that count",
    "undecided",
    "sets that tell all apart",
    "after draws, median; most",
    "complete sets",
    "rarest",
)


def of_shapes() -> list[str]:
    """Certify sets of draws at shapes, and return the section."""
    rows: list[tuple[object, ...]] = []
    for name, (extents, without) in SHAPES.items():
        for dtype in DTYPES:
            limits = Limits(dtype, without=without, extents=extents)
            found = certificate(FORWARD, dtype, list(reported_in_turn(FORWARD, "shapes", DRAWS, limits)))
            left = ", ".join(f"`{trivial_answer.name}`" for trivial_answer in found.not_distinguished)
            rows.append((name, dtype, found.draws, len(found.distinguished), len(found.not_applicable), left))
    heading = ("shape", "dtype", "draws that count", "told apart", "not applicable", "not told apart")
    return ["## Shapes", "", f"Sets of {DRAWS} draws of attention.", "", *table(heading, rows), ""]


def of_own_inputs() -> list[str]:
    """Ask which impostors uniform inputs could tell apart, and return the section."""
    generator = np.random.default_rng(0)
    drawn = {name: generator.random((1, 1, TOKENS, FEATURES), np.float32) for name in ("query", "key", "value")}
    passing = {each.name for each in passing_trivial_answers(FORWARD, drawn, {}, atol=RULE, rtol=RULE)}
    ratios: dict[str, Mapping[str, float]] = {}
    for dtype in ("float32", "float16", "bfloat16"):
        inputs = {name: rounded_to(array.astype(np.float64), dtype) for name, array in drawn.items()}
        assert all(np.array_equal(array, array.astype(numpy_dtype(dtype))) for array in inputs.values())
        case = case_of(Recipe(FORWARD, "own", 0, Limits(dtype)), Drawn(inputs, {}, (), {}, ()))
        reported = distinguish(run_of(case, dtype, {})).trivial_answers
        ratios[dtype] = {
            name: each.ratio for name, each in reported.items() if each.telling in (DISTINGUISHED, UNDECIDED)
        }
    rows = [
        (
            f"`{name}`",
            "passes" if name in passing else "fails",
            *(_reported(ratios[dtype].get(name)) for dtype in ratios),
        )
        for name in ratios["float32"]
    ]
    heading = ("impostor", f"allclose({RULE:g})", *(f"{dtype}, error / tolerance" for dtype in ratios))
    about = (
        f"Attention over {TOKENS} tokens of {FEATURES} features that are uniform from 0 to 1, compared by "
        f"`allclose(atol={RULE:g}, rtol={RULE:g})` in float32: what passes could be given in place of attention, and "
        "such inputs would not tell. Beside it, the largest error in tolerances of ours. Impostors that are right "
        "there are left out."
    )
    return ["## Uniform inputs", "", about, "", *table(heading, rows)]


def _reported(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3g}"


def main() -> None:
    """Measure, print, and write the page where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_write_option(parser, "impostors")
    options = parser.parse_args()
    found = [of_operation(operation) for operation in SETS]
    rows = [row for of_dtypes, _ in found for row in of_dtypes]
    figures = [*table(HEADING, rows), "", *of_shapes(), *of_own_inputs()]
    publish(Study("Impostors", ABOUT, figures, [line for _, section in found for line in section]), options.write)


if __name__ == "__main__":
    main()

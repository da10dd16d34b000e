"""How close right gradients of attention come to their tolerance, and how far beyond it simple wrong ones lie.

``python tools/benchmarks/backward_tolerance_margins.py`` draws inputs of several classes, computes their gradients in
many right ways and a few wrong ones, and prints the worst error / tolerance of each; ``--write`` writes the tables to
``spec/studies/backward-tolerance.md``. PyTorch and JAX are among the ways where they are installed. It takes some
minutes, and ``--draws`` says how many inputs of each class there are.
"""

from __future__ import annotations

import argparse
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from gradients.draws import CLASSES, Draw, draw
from gradients.libraries import libraries
from gradients.ways import RIGHT, WRONG, Way, exact
from study import Study, add_write_option, publish, table

from attnspec.bounds import precision_of
from attnspec.contract.dtypes import FLOAT_DTYPES, HALF_PRECISION, LARGEST
from attnspec.families.lookup import family_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from attnspec.bounds import Tolerance

OPERATION = "scaled_dot_product_attention_backward"
GRADIENTS = ("grad_query", "grad_key", "grad_value", "grad_mask", "grad_sinks", "delta", "grad_scores")
COLUMNS = (
    ("float64", "wide"),
    ("float32", "wide"),
    *((dtype, grade) for dtype in HALF_PRECISION for grade in RIGHT if grade != "wide"),
)
DRAWS_OF_LIBRARIES = 3
CLASSES_OF_JAX = ("grid", "Gaussian", "tied")
"""JAX compiles anew for each shape, so it is shown few."""

ABOUT = """
How close right gradients come to the tolerance of [decision 33](../decisions/0033-gradient-tolerance.md): the worst
error / tolerance over drawn inputs. Above 1 a right computation would fail. Exact gradients are computed in the widest
float of NumPy. Shapes are random, up to 6 heads, 40 queries, 48 keys and 16 features; *many* is up to 2,048. Scale,
causality, masks, softcap, sinks and gradients of the logsumexp come and go.

- *grid*: sums of four numbers of 6 bits, as the golden cases hold; *Gaussian*: full width of the dtype.
- *peaked*, *large*, *tiny*: queries times 8; logits of hundreds and values of thousands; values and gradients of
  thousandths, which leaves gradients among the subnormal numbers of float16.
- *tied*: every token is one of two; *cancelling*: and they cancel; *equal tokens*: all of some tensors are the same.
- *offset*: values near 32, so that delta takes most of the products away.

The right ways keep the weights or recompute them from a logsumexp that is found or given in the dtype, take delta
from the weights, from an output or from a given one, fold or split the scale, use powers of two, and add up at once, in
tiles or strictly in order, from either end. *Fused* ways round weights and gradients of scores to the dtype before the
last products, and each head's part before the sum over a group; *unfused* ones store every step.
"""
OF_LIBRARIES = """
Libraries, over draws without softcap, sinks and float masks. PyTorch's flash kernel for the CPU holds the unfused grade
alone: its backward operator adds to grad_value in the dtype, a block of queries at a time.
"""
OF_MISTAKES = """
Wrong ways in float32: in how many of the draws in which they change anything some element is beyond its tolerance, and
the median of the worst error / tolerance.
"""


def bound_of(case: Draw, dtype: str, grade: str, logsumexp: NDArray[Any] | None = None) -> Tolerance:
    """Return values and tolerances, for ways that are given the logsumexp or for others."""
    inputs = case.inputs if logsumexp is None else {**case.inputs, "logsumexp": logsumexp}
    precision = precision_of(dtype, fused=grade == "fused")
    return family_of(OPERATION).tolerance(OPERATION, inputs, case.attributes, precision, {})


def ratios(
    got: Mapping[str, NDArray[Any]], want: Mapping[str, NDArray[Any]], bound: Tolerance, dtype: str
) -> dict[str, float]:
    """Return the worst error / tolerance of each gradient."""
    found: dict[str, float] = {}
    for name, given in got.items():
        error, tolerance = np.abs(given - want[name]), bound.of(name).error
        beyond = np.isinf(given) & (np.abs(want[name]) + tolerance > LARGEST[dtype])
        error = np.where(beyond, 0.0, error)
        ratio = np.where(error == 0, 0.0, error / tolerance)
        vacuous = bound.vacuous(name)
        ratio = np.where(np.isnan(ratio), np.inf, ratio) if vacuous is None else np.where(vacuous, 0.0, ratio)
        found[name] = float(np.max(ratio, initial=0.0))
    return found


def of_right_ways(draws: int) -> tuple[list[str], list[str]]:
    """Return the tables of right ways: by class, and by gradient."""
    by_class = {name: dict.fromkeys(COLUMNS, 0.0) for name in CLASSES}
    by_gradient = {name: dict.fromkeys(COLUMNS, 0.0) for name in GRADIENTS}
    for dtype, grade in COLUMNS:
        for name in CLASSES:
            for seed in range(draws):
                case = draw(name, seed, dtype)
                want, given = exact(case)
                bounds = {
                    is_given: bound_of(case, dtype, grade, given["logsumexp"] if is_given else None)
                    for is_given in (False, True)
                }
                for way in RIGHT[grade].values():
                    bound = bounds[way.weights == "given"]
                    for gradient, ratio in ratios(way.gradients(case, dtype, given), want, bound, dtype).items():
                        column = dtype, grade
                        by_class[name][column] = max(by_class[name][column], ratio)
                        by_gradient[gradient][column] = max(by_gradient[gradient][column], ratio)
    heading = [dtype if grade == "wide" else f"{dtype}, {grade}" for dtype, grade in COLUMNS]

    def rows(found: Mapping[str, Mapping[tuple[str, str], float]]) -> list[tuple[str, ...]]:
        return [(name, *(f"{worst:.2f}" for worst in columns.values())) for name, columns in found.items()]

    return table(("class", *heading), rows(by_class)), table(("gradient", *heading), rows(by_gradient))


def of_libraries() -> list[str]:
    """Return the table of libraries."""
    rows: list[tuple[str, ...]] = []
    for name, library in libraries().items():
        cells = dict.fromkeys(FLOAT_DTYPES, "")
        kinds, draws = (CLASSES_OF_JAX, 1) if name.startswith("JAX") else (tuple(CLASSES), DRAWS_OF_LIBRARIES)
        for dtype in library.dtypes:
            worst = 0.0
            for case in (draw(kind, seed, dtype, plainly=True) for kind in kinds for seed in range(draws)):
                bound = bound_of(case, dtype, "fused" if library.is_fused else "unfused")
                worst = max(worst, *ratios(library.gradients(case, dtype), exact(case)[0], bound, dtype).values())
            cells[dtype] = f"{worst:.2f}"
        rows.append((f"{name}, {'fused' if library.is_fused else 'unfused'}", *cells.values()))
    return table(("library, grade of half precision", *FLOAT_DTYPES), rows)


def of_wrong_ways(draws: int) -> list[str]:
    """Return the table of wrong ways."""
    rows: list[tuple[str, ...]] = []
    for mistake in WRONG:
        worst: list[float] = []
        for case in (draw(name, seed, "float32") for name in CLASSES for seed in range(draws)):
            got, right = (Way(mistake=what).gradients(case, "float32") for what in (mistake, None))
            if all(np.array_equal(got[name], right[name]) for name in got):
                continue
            bound = bound_of(case, "float32", "wide")
            expected = {name: x for name, x in got.items() if name not in ("delta", "grad_scores")}
            worst.append(max(ratios(expected, exact(case)[0], bound, "float32").values()))
        beyond = sum(ratio > 1 for ratio in worst)
        rows.append((mistake, f"{beyond} of {len(worst)}", f"{np.median(worst):.2g}"))
    return table(("mistake", "beyond the tolerance", "median"), rows)


def figures(draws: int) -> list[str]:
    """Measure, and return the page's tables and the sentences between them."""
    by_class, by_gradient = of_right_ways(draws)
    found = [f"{draws} draws of each class and dtype.", "", *by_class, "", *by_gradient]
    installed = [f"{name} {version(name)}" for name in ("torch", "jax") if name in _names()]
    if installed:
        found += ["", *OF_LIBRARIES.strip().splitlines(), f"Measured with {', '.join(installed)}.", "", *of_libraries()]
    return [*found, "", *OF_MISTAKES.strip().splitlines(), "", *of_wrong_ways(draws)]


def _names() -> set[str]:
    return {name.partition(",")[0].lower() for name in libraries()}


def main() -> None:
    """Measure, print, and write the page on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20, help="how many inputs of each class (20)")
    add_write_option(parser, "backward-tolerance")
    options = parser.parse_args()
    with np.errstate(all="ignore"):
        lines = figures(options.draws)
    publish(Study("Right gradients and their tolerance", ABOUT, lines), options.write)


if __name__ == "__main__":
    main()

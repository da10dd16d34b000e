"""Whether libraries have the same bits in every batch: parts of golden cases beside the whole, bit by bit.

``python tools/benchmarks/batch_invariance.py`` calls the cases of the contract in parts, in float64 and float32, and
prints how many parts have other bits; ``--write`` writes that to ``spec/studies/batch-invariance.md``. A library that
is not installed has no row.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from study import Study, add_write_option, publish, table

from attnspec import validate
from attnspec.base.errors import AttnspecError
from attnspec.contract import CALLED_IN_PARTS

TARGETS = ("reference", "torch", "torch-math", "torch-flash", "torch-mha", "jax", "onnx", "onnxruntime", "transformers")
DTYPES = ("float64", "float32")
PROPERTIES = ("entries", "queries")

ABOUT = """
Some forty cases are called in parts ([decision 52](../decisions/0052-batch-invariance.md)): batch *entries* alone,
beside entries that hold NaN, and in the reverse order; *queries* alone with the same keys, or as a step behind a past.
A figure is the number of calls whose results have other bits than in the whole call, of those that were answered, and
by how many units in the last digit they are furthest apart. An element near 0 is many of its own units away from a near
one, and JAX computes float64 inside in float32. None declares that bits are the same, and nothing is wrong. The bits
are those of one machine and its number of threads.
"""


def rows(target: str) -> Iterator[tuple[str, ...]]:
    """Give what was measured of a target, a row for each operation; nothing where it is not installed."""
    found: dict[str, dict[tuple[str, str], str]] = {}
    name = target
    for dtype in DTYPES:
        try:
            report = validate(target, dtypes=dtype, select=tuple(CALLED_IN_PARTS), probes=False)
        except AttnspecError:
            return
        name = " ".join(filter(None, (f"`{target}`", report.declaration.version)))
        for each in report.invariance:
            apart = f", {each.units:.3g}" if each.differing else ""
            cells = found.setdefault(each.operation, {})
            cells[dtype, each.of] = f"{each.differing} of {each.calls}{apart}"
    for operation, cells in found.items():
        yield name, f"`{operation}`", *(cells.get((dtype, of), "") for of in PROPERTIES for dtype in DTYPES)


def main() -> None:
    """Measure, print, and write the page on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", action="append", choices=TARGETS, help="this one alone, or several")
    add_write_option(parser, "batch-invariance")
    options = parser.parse_args()
    measured = [row for target in options.target or TARGETS for row in rows(target)]
    heading = ("library", "operation", *(f"{of}, {dtype}" for of in PROPERTIES for dtype in DTYPES))
    publish(Study("The same bits in every batch", ABOUT, table(heading, measured)), options.write)


if __name__ == "__main__":
    main()

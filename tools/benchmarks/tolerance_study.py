"""False alarms and misses of the tolerance, beside those of rules in common use, on the same runs.

``python tools/benchmarks/tolerance_study.py [GOLDEN]`` holds right and wrong implementations of attention against the
golden cases, and against inputs that no dtype holds exactly, and prints its tables; ``--write`` writes all but those of
single implementations to ``spec/studies/tolerance-study.md``. Only ``output`` is graded, as for an implementation that
returns nothing else. Takes two minutes of processor time, and needs the extra `regenerate`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from study import Study, add_write_option, publish, table

from attnspec.bounds import Tolerance, precision_of, stacked
from attnspec.cases import load_suite
from attnspec.contract import OPERATIONS, declarations
from attnspec.contract.dtypes import FLOAT_DTYPES, HALF_PRECISION, numpy_dtype, rounded_to, to_run_dtype
from attnspec.contract.implementation import Outputs
from attnspec.families.lookup import family_of
from attnspec.grading import Run, Values, grade
from attnspec.runner.planning import prepare
from attnspec_controls import controls_of
from attnspec_mistakes import mistakes_of
from attnspec_mistakes.patches import in_working_precision, patch
from attnspec_oracle import evaluate
from attnspec_reference import scaled_dot_product_attention
from attnspec_reference.attention.attention_logits import exclude_keys, within_window
from attnspec_reference.attention.phases import (
    divide_by_total,
    exponentiate,
    scale_scores,
    score_every_key,
    weigh_values,
)

Array = NDArray[Any]
Implementation = Callable[..., Mapping[str, Any]]
OPERATION = "scaled_dot_product_attention"
ABOUT = """
The tolerance of [decision 6](../decisions/0006-tolerance.md) beside rules in common use, on the same runs of attention:
the golden cases in the dtypes that they offer (but for NaN, infinities, refusals and quantized tensors), and inputs off
the grid, that no dtype holds exactly (Gaussian numbers of width 128, also with logits of some tens and with a softcap;
64 and 128 positive keys of width 64; uniform attention over 100 values; three seeds each). Everything is graded by
`output` alone.

- A *false alarm* is a pair of a right implementation (the reference, the controls, and a naive one that stores every
  step in the dtype) and a run that the rule flags. The fused rows leave out the naive one in half precision, which is
  unfused.
- A *miss* is a wrong implementation (the catalogue of mistakes, and the near misses of the second table) that no run
  flags; in brackets, the share of flagged pairs among those that differ from the reference in any bit.

A rule that fails most right results misses nothing; its zero is worth nothing. What this model misses in float64 and
float32 does not show in the output: a query that is edited itself, which the check of the inputs sees, and an
excluded key that leaks less than a rounding, which float64 sees. What it misses in half precision is inside honest
noise there: an exponential off by 1e-5, a scale off by 0.1 %, a small number in the denominator and, unfused, scores or
weights rounded to the dtype.
"""


# The runs


@dataclass(frozen=True)
class Prepared:
    """One case in one dtype: what is called, what is expected, and within what."""

    name: str
    dtype: str
    given: Mapping[str, Array]
    attributes: Mapping[str, Any]
    expected: Values
    bound: Tolerance
    index: int
    fused_index: int | None

    def output_of(self, function: Implementation) -> Array | None:
        """Return what a function gives, or None where it raises."""
        try:
            with np.errstate(all="ignore"):
                returned = function(**{name: array.copy() for name, array in self.given.items()}, **self.attributes)
        except (ValueError, IndexError, ArithmeticError):
            return None
        return returned["output"] if isinstance(returned, Mapping) else returned.output

    def ratio(self, got: Array, *, fused: bool = False) -> float:
        """Return the worst error / tolerance; infinite for another shape."""
        index = self.fused_index if fused and self.fused_index is not None else self.index
        family = family_of(OPERATION)
        run = Run(None, self.dtype, OPERATIONS[OPERATION], family, {}, self.expected, self.bound, index)
        verdict = grade(run, Outputs({"output": got}))
        if verdict.worst is None:
            return math.inf if verdict.status == "fail" else 0.0
        return verdict.worst.ratio

    @cached_property
    def naive_error(self) -> float:
        """Return the largest absolute error of the naive implementation in the same dtype."""
        naive = self.output_of(step_by_step(self.dtype))
        assert naive is not None
        return largest_error(self, naive)

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Which elements of the output other rules compare: those of queries that are not padding."""
        lengths = self.given.get("query_lengths")
        shape = self.expected.outputs["output"].shape
        rows = np.arange(shape[2]) < (np.full(shape[0], shape[2]) if lengths is None else lengths)[:, None]
        return np.broadcast_to(rows[:, None, :, None], shape)


def golden_runs(folder: Path | None) -> Iterator[Prepared]:
    """Give every golden case of attention in every dtype, but for those that are graded by kind: NaN and infinity."""
    for case in load_suite(folder).cases.values():
        if case.operation != OPERATION or case.rejects is not None or case.sample or case.profile == "nonfinite":
            continue
        if any(name.endswith("_scale") for name in case.inputs):
            continue  # quantized tensors are no floats of the run
        for dtype, run in prepare(case, case.dtypes, declarations.resolve_conventions({}, OPERATION)).items():
            given = {name: to_run_dtype(array, dtype) for name, array in case.inputs.items()}
            assert isinstance(run.expected, Values)
            assert run.bound is not None
            yield Prepared(
                case.id, dtype, given, case.attributes, run.expected, run.bound, run.bound_index, run.fused_index
            )


def off_grid_runs() -> Iterator[Prepared]:
    """Give inputs that no dtype holds exactly."""
    for seed in range(1, 4):
        draw = np.random.default_rng(seed)
        positive = [draw.uniform(0.25, 1, (1, 1, tokens, 64)) for tokens in (8, 128, 128)]
        gaussian = [draw.standard_normal((1, 1, tokens, 128)) for tokens in (8, 64, 64)]
        kinds: dict[str, tuple[list[Array], dict[str, Any]]] = {
            "gaussian of width 128": (gaussian, {}),
            "gaussian of width 128, logits of some tens": ([20 * gaussian[0], *gaussian[1:]], {}),
            "128 positive keys of width 64": (positive, {}),
            "64 positive keys of width 64": ([positive[0], *(tensor[:, :, :64] for tensor in positive[1:])], {}),
            "uniform over 100 positive values": ([*positive[:1], *(t[:, :, :100] for t in positive[1:])], {"scale": 0}),
            "gaussian, softcap": (gaussian, {"softcap": 1.5}),
        }
        for kind, (tensors, attributes) in kinds.items():
            inputs = dict(zip(("query", "key", "value"), tensors, strict=True))
            for dtype in FLOAT_DTYPES:
                seen = {name: rounded_to(array, dtype) for name, array in inputs.items()}
                given = {name: to_run_dtype(array, dtype) for name, array in inputs.items()}
                grades = stacked([precision_of(dtype), precision_of(dtype, fused=True)])
                bound = family_of(OPERATION).tolerance(OPERATION, seen, attributes, grades, {})
                expected = Values(evaluate(OPERATION, seen, attributes, outputs=["output"]))
                yield Prepared(f"off the grid: {kind}, {seed}", dtype, given, attributes, expected, bound, 0, 1)


# Right implementations


@cache
def step_by_step(dtype: str) -> Implementation:
    """Make an attention that stores every tensor in the dtype, sums in float32 for half precision: the naive one."""

    def stored(step: Callable[..., Array]) -> Callable[..., Array]:
        def rounded(*arguments: Any) -> Array:
            result = step(*arguments)
            return result.astype(numpy_dtype(dtype)).astype(result.dtype)

        return rounded

    return in_working_precision(
        patch(
            scaled_dot_product_attention,
            score_every_key=stored(score_every_key),
            scale_scores=stored(scale_scores),
            exponentiate=stored(exponentiate),
            divide_by_total=stored(divide_by_total),
            weigh_values=stored(weigh_values),
        )
    )


def right_implementations(dtype: str) -> dict[str, Implementation]:
    """Return the implementations that no case may fail, by name; the naive one of half precision is unfused."""
    computed = {"reference": in_working_precision(scaled_dot_product_attention)}
    computed.update((control.id, control.function) for control in controls_of(OPERATION))
    computed["step by step"] = step_by_step(dtype)
    return computed


# Wrong implementations


def rounding_scores_to_bfloat16(query: Array, key: Array) -> Array:
    """Round the dot products to bfloat16."""
    product = score_every_key(query, key)
    return product.astype(numpy_dtype("bfloat16")).astype(product.dtype)


def summing_values_in_float16(weights: Array, value: Array, _: Any = None) -> Array:
    """Add the weighted values in float16, one after the other."""
    total = np.zeros((*weights.shape[:-1], value.shape[-1]), dtype=np.float16)
    for key in range(value.shape[-2]):
        total = total + (weights[..., key, None] * value[..., None, key, :]).astype(np.float16)
    return total.astype(weights.dtype)


def coarse_exponential(logits: Array, largest: Array) -> Array:
    """Take exponentials with a relative error of 1e-5 of either sign."""
    wave = np.sign(np.sin(1e4 * np.where(np.isfinite(logits), logits, 0)))
    return exponentiate(logits, largest) * (1 + 1e-5 * wave).astype(logits.dtype)


def excluding_by(penalty: float) -> Callable[[Array, Any], Array]:
    """Give excluded keys a finite logit."""
    return lambda logits, attendable: np.where(attendable, logits, np.asarray(penalty, dtype=logits.dtype))


def dropping_the_last_of_257(logits: Array, attendable: Any) -> Array:
    """Leave out the last key where there are more than 256."""
    if logits.shape[-1] > 256:
        attendable = attendable & (np.arange(logits.shape[-1]) < logits.shape[-1] - 1)
    return exclude_keys(logits, attendable)


def wider_window(window: Any, *lengths: Any) -> Any:
    """Let a query attend to one key more on the left."""
    left, right = window or (None, None)
    return within_window((None if left is None else left + 1, right), *lengths)


def narrower_window(window: Any, *lengths: Any) -> Any:
    """Let a query attend to one key less on the left."""
    left, right = window or (None, None)
    return within_window((None if left is None else max(left - 1, 0), right), *lengths)


NEAR_MISSES: Mapping[str, Mapping[str, object]] = {
    "scores rounded to bfloat16": {"score_every_key": rounding_scores_to_bfloat16},
    "values summed in float16": {"weigh_values": summing_values_in_float16},
    "exponential off by 1e-5": {"exponentiate": coarse_exponential},
    "scale off by 0.1 %": {"scale_scores": lambda scores, scale: scale_scores(scores, scale * 1.001)},
    "-1e4 instead of minus infinity": {"exclude_keys": excluding_by(-1e4)},
    "-1e9 instead of minus infinity": {"exclude_keys": excluding_by(-1e9)},
    "last key dropped at more than 256": {"exclude_keys": dropping_the_last_of_257},
    "window wider by one": {"within_window": wider_window},
    "window narrower by one": {"within_window": narrower_window},
}


def wrong_implementations() -> dict[str, Implementation]:
    """Return the near misses and the catalogue of mistakes, by name."""
    near = {
        name: in_working_precision(patch(scaled_dot_product_attention, **steps)) for name, steps in NEAR_MISSES.items()
    }
    # In layouts of serving a mistake has other arguments.
    listed = [mistake for mistake in mistakes_of(OPERATION) if mistake.is_made_in(None)]
    return {**near, **{mistake.id: mistake.function for mistake in listed}}


# Rules

Rule = Callable[[Prepared, Array], bool]
_ASSERT_CLOSE = {
    "float64": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
}


def within(run: Prepared, got: Array, relative: float, absolute: float) -> bool:
    """Return whether every number lies within ``absolute + relative * |expected|``."""
    expected, counted = run.expected.outputs["output"], run.counted
    return got.shape == expected.shape and np.allclose(
        got[counted].astype(np.float64), expected[counted], rtol=relative, atol=absolute, equal_nan=True
    )


def largest_error(run: Prepared, got: Array) -> float:
    """Return the largest absolute error, infinite where NaN and numbers are mixed up."""
    expected, counted = run.expected.outputs["output"], run.counted
    if got.shape != expected.shape:
        return math.inf
    given, expected = got[counted].astype(np.float64), expected[counted]
    with np.errstate(invalid="ignore"):
        same = (given == expected) | (np.isnan(given) & np.isnan(expected))
        error = np.where(same, 0.0, np.abs(given - expected))
    return float(np.max(np.where(np.isnan(error), np.inf, error), initial=0.0))


def twice_the_naive(run: Prepared, got: Array) -> bool:
    """Return whether the largest error is at most twice that of the naive implementation in the same dtype."""
    return largest_error(run, got) <= 2 * run.naive_error


RULES: Mapping[str, Rule] = {
    "this model, unfused": lambda run, got: run.ratio(got) <= 1,
    "this model, fused": lambda run, got: run.ratio(got, fused=True) <= 1,
    "np.allclose (1e-5, 1e-8)": lambda run, got: within(run, got, 1e-5, 1e-8),
    "torch.testing.assert_close, its defaults": lambda run, got: within(run, got, *_ASSERT_CLOSE[run.dtype]),
    "rtol 1e-3, atol 1e-7": lambda run, got: within(run, got, 1e-3, 1e-7),
    "at most twice the naive error": twice_the_naive,
}


# Tables


def quoted(name: str) -> str:
    """Return a mistake's id as code, and the name of a near miss as it is."""
    return name if name in NEAR_MISSES else f"`{name}`"


def margins(golden: list[Prepared], off_grid: list[Prepared]) -> list[str]:
    """Return the worst error / tolerance of every right implementation, golden cases first, off the grid behind."""
    rows: list[tuple[str, ...]] = []
    for name in right_implementations("float64"):
        cells: list[str] = []
        for dtype in FLOAT_DTYPES:
            worst: list[float] = []
            for runs in (golden, off_grid):
                computed = [
                    (run, run.output_of(right_implementations(dtype)[name])) for run in runs if run.dtype == dtype
                ]
                worst.append(max((run.ratio(got) for run, got in computed if got is not None), default=0.0))
            cells.append("; ".join(f"{ratio:.2f}" for ratio in worst))
        rows.append((name, *cells))
    return table(("right: worst error / tolerance, golden; off the grid", *FLOAT_DTYPES), rows)


def near_misses(golden: list[Prepared]) -> list[str]:
    """Return how clearly each near miss fails in float32, and on how many cases."""
    rows: list[tuple[object, ...]] = []
    wrong = wrong_implementations()
    for name in NEAR_MISSES:
        ratios = {
            run.name: run.ratio(got)
            for run in golden
            if run.dtype == "float32" and (got := run.output_of(wrong[name])) is not None
        }
        clearest = max(ratios, key=lambda case: ratios[case])
        rows.append((name, f"{ratios[clearest]:.3g}", sum(ratio > 1 for ratio in ratios.values()), f"`{clearest}`"))
    return table(("wrong, in float32", "worst error / tolerance", "cases that fail", "clearest case"), rows)


def rules(runs: list[Prepared]) -> tuple[list[str], list[str]]:
    """Return false alarms and misses of every rule in every dtype, and which implementations are missed."""
    alarms: dict[tuple[str, str], list[bool]] = {}
    found: dict[tuple[str, str], dict[str, list[bool]]] = {}
    for run in runs:
        for name, function in right_implementations(run.dtype).items():
            got = run.output_of(function)
            for rule, accepts in RULES.items():
                if got is None or (rule.endswith(" fused") and run.dtype in HALF_PRECISION and name == "step by step"):
                    continue
                alarms.setdefault((rule, run.dtype), []).append(not accepts(run, got))
        plain = run.output_of(in_working_precision(scaled_dot_product_attention))
        for name, function in wrong_implementations().items():
            got = run.output_of(function)
            if got is None or plain is None or (got.shape == plain.shape and got.tobytes() == plain.tobytes()):
                continue
            for rule, accepts in RULES.items():
                found.setdefault((rule, run.dtype), {}).setdefault(name, []).append(not accepts(run, got))
    alarm_rows = [
        (rule, *(f"{sum(alarms[rule, dtype])} of {len(alarms[rule, dtype])}" for dtype in FLOAT_DTYPES))
        for rule in RULES
    ]
    miss_rows: list[tuple[str, ...]] = []
    missed: list[str] = []
    for rule in RULES:
        cells: list[str] = []
        for dtype in FLOAT_DTYPES:
            by_name = found[rule, dtype]
            missing = sorted(name for name, flags in by_name.items() if not any(flags))
            every = [flag for flags in by_name.values() for flag in flags]
            cells.append(f"{len(missing)} of {len(by_name)} [{100 * sum(every) / len(every):.0f} %]")
            if missing:
                missed.append(f"- {rule}, {dtype}: {', '.join(map(quoted, missing))}")
        miss_rows.append((rule, *cells))
    figures = [
        *table(("false alarms", *FLOAT_DTYPES), alarm_rows),
        "",
        *table(("misses [flagged among those that differ]", *FLOAT_DTYPES), miss_rows),
    ]
    return figures, ["Missed by:", "", *missed, ""]


def main() -> None:
    """Run everything, print the tables, and write the page on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("golden", nargs="?", type=Path, help="another folder of golden files")
    add_write_option(parser, "tolerance-study")
    options = parser.parse_args()
    golden = list(golden_runs(options.golden))
    off_grid = list(off_grid_runs())
    of_rules, missed = rules(golden + off_grid)
    figures = [
        f"{len(golden)} golden runs (a case in a dtype) and {len(off_grid)} runs off the grid.",
        "",
        *near_misses(golden),
        "",
        *of_rules,
    ]
    details = [*margins(golden, off_grid), "", *missed]
    publish(Study("The tolerance beside other rules", ABOUT, figures, details), options.write)


if __name__ == "__main__":
    main()

"""Difference that a mistake makes, shown on one case."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnspec.cases import Case
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.diagnosis.facts import attended_keys_in_words
from attnspec.diagnosis.mistake_outputs import mistake_outputs
from attnspec.runner import Run, ungraded_run
from attnspec_mistakes import Mistake

_NOTICEABLE = 1e-3
_ENOUGH_TRIED = 40


def difference_made(mistake: Mistake, cases: Iterable[Case]) -> str | None:
    """Return a sentence with right and wrong numbers of one case; None where no case shows a difference.

    Order of choice: cases that target the mistake, then those of its clause; small first; preferably one that shows
    which keys were attended.
    """
    # A missing refusal, an edited input and an earlier call show in no wrong number.
    if mistake.begin is not None or mistake.clause.endswith(".inputs_unchanged") or ".rejects." in mistake.clause:
        return None
    suited = [
        case for case in cases if case.operation == mistake.operation and case.expected is not None and not case.sample
    ]
    suited.sort(
        key=lambda case: (
            mistake.id not in case.targets,
            mistake.clause not in case.clauses,
            len(case.clauses),
            case.size,
        )
    )
    # Most mistakes show in float64; some do only where numbers overflow earlier.
    found = (_difference_in_dtype(mistake, suited, dtype) for dtype in (None, *FLOAT_DTYPES[1:]))
    return next((said for said in found if said is not None), None)


def _difference_in_dtype(mistake: Mistake, cases: Sequence[Case], requested: str | None) -> str | None:
    """Return the difference on a case in the `requested` dtype, or its widest; attended keys before numbers."""
    reported: str | None = None
    for tried, case in enumerate(cases):
        if reported is not None and tried >= _ENOUGH_TRIED:
            break
        dtype = requested or case.runs[0]
        run = ungraded_run(case, dtype, "only computed")._replace(layout=mistake.layout)
        got = mistake_outputs(mistake, run) if dtype in case.runs else None
        if got is None:
            continue
        keys = attended_keys_in_words(run, got)
        if keys is not None:
            return keys
        reported = reported or _numbers(run, {name: array.astype(np.float64) for name, array in got.items()})
    return reported


def _numbers(run: Run, got: Mapping[str, NDArray[Any]]) -> str | None:
    case, dtype, golden = run.case, run.dtype, run.case.golden(run.dtype)
    beside = "" if dtype == case.runs[0] else f" in {dtype}"
    for name in run.operation.outputs:
        if name not in golden or name not in got:
            continue
        expected, given = golden[name].astype(np.float64), got[name]
        if expected.shape != given.shape:
            return f"In {case.id}{beside}, {name} gets the shape {given.shape} instead of {expected.shape}."
        with np.errstate(all="ignore"):
            error = np.where(
                (given == expected) | (np.isnan(given) & np.isnan(expected)), 0.0, np.abs(given - expected)
            )
        if not error.size or not np.nan_to_num(error, nan=np.inf).max() > _NOTICEABLE:
            continue
        worst = np.unravel_index(np.nan_to_num(error, nan=np.inf).argmax(), error.shape)
        index = [int(part) for part in worst]
        return f"In {case.id}{beside}, {name}{index} becomes {given[worst]:.6g} instead of {expected[worst]:.6g}."
    return None

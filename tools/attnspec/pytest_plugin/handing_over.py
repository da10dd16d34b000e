"""Results handed over from the workers of xdist, so that failures are diagnosed together, wherever they ran."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from attnspec.runner import Result, planned_runs, resolved_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attnspec.cases import Suite
    from attnspec.targets import Declaration


def packed(declaration: Declaration, results: Sequence[Result]) -> bytes:
    """Return results as bytes, without cases and expected values, which can be made anew; none of an ungraded case."""
    plain = [
        (result.case.id, result.dtype, result.verdict, result.seconds, result.got, result.same_bits)
        for result in results
    ]
    return pickle.dumps((declaration, plain), 5)


def unpacked(content: bytes, suite: Suite, conventions: Mapping[str, str]) -> list[Result]:
    """Return the results that another process of the same run packed; `conventions` go over the declared ones."""
    plain: list[tuple[Any, ...]]
    declaration, plain = pickle.loads(content)
    resolved = resolved_for(declaration, conventions)
    results: list[Result] = []
    for case_id, dtype, *rest in plain:
        case = suite.cases[case_id]
        (run,) = planned_runs(case, [dtype], declaration, resolved)
        results.append(Result(run, *rest))
    return results

"""Validating an implementation: from a target to a report."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from attnspec.base import __version__
from attnspec.base.errors import UsageError
from attnspec.base.extensions import MEASURED, import_object
from attnspec.cases import Suite, load_selected
from attnspec.contract import OPERATIONS, declarations
from attnspec.contract.dtypes import FLOAT_DTYPES
from attnspec.process.opening import open_target
from attnspec.reports.report import Invocation, Report, invocation_of
from attnspec.runner import Follower, Resolved, Result, Run, Share, offered_part, run_suite, share_of
from attnspec.runner.invariance import invariance_failures, measured_invariance
from attnspec.runner.of_run import layer_failures
from attnspec.runner.systematic import systematic_errors, systematic_failures
from attnspec.targets.target import TargetOptions, as_tuple, spelled_out, target_of

if TYPE_CHECKING:
    from attnspec.diagnosis import Declarations, Diagnosis
    from attnspec.reports.wording import EndedEarly
    from attnspec.runner.result import Law, Measured
    from attnspec.targets import Declaration, Implementation


@spelled_out(TargetOptions)
def validate(
    target: object,
    *,
    dtypes: Sequence[str] | str | None = None,
    profile: Sequence[str] | str | None = None,
    select: Sequence[str] | str | None = None,
    conventions: Mapping[str, str] | None = None,
    fail_fast: bool = False,
    probes: bool = True,
    golden: Path | None = None,
    **options: Unpack[TargetOptions],
) -> Report:
    """Validate an implementation against the golden cases.

    The implementation runs in this process, unprotected: if it ends the process, it ends the validation too. The
    command line guards its runs.

    Parameters
    ----------
    target
        A built-in name (``"torch"``), a module, an instance or a class that holds callables named after operations, a
        string such as ``"package.module"`` or ``"./mine.py:MyAdapter"``, or, together with `operation`, one function.
    dtypes
        Dtypes to run in; the declared ones if None. They are declared by it where the implementation declares none.
    profile, select
        Profiles, and shell patterns of case ids, to run; everything if None.
    conventions
        Conventions that the implementation follows, over the declared ones, such as ``{"fully_masked_row": "nan"}``.
    operation
        The operation for which a bare function stands.
    layout
        One of the layouts, such as ``bshe`` or ``paged:page_size=16``; the declared one if None.
    renames
        The implementation's own argument name to the contract's: ``{"Q": "query"}``.
    device
        Where it is to run, for an implementation that takes one: ``"cuda"``.
    tensors
        The library whose tensors it takes and returns: ``"torch"``, ``"jax"`` or ``"numpy"``; as declared if None.
    backward
        ``"autograd"`` has the gradients of its functions taken by the library of its tensors, and validates them, too;
        as declared if None.
    without
        Capabilities that it lacks, beside those declared: ``("float_mask", "grouped_query")``.
    fail_fast
        Stop at the first wrong result.
    probes
        Whether an implementation that went wrong is called again, to measure what it computes.
    golden
        Another folder of golden files.

    Returns
    -------
    Report
        ``conforms``, ``results``, ``diagnosis``, ``summary``; a notebook shows it as a table.

    Raises
    ------
    AttnspecError
        If it cannot be run: the message is a sentence that says what to do.
    """
    suite = load_selected(golden, profiles=as_tuple(profile), select=as_tuple(select))
    reached = target_of(target, options)
    conventions = conventions or {}
    with closing(open_target(reached, dtypes=as_tuple(dtypes))) as implementation:
        results = run_offered(
            suite, implementation, dtypes=as_tuple(dtypes), conventions=conventions, fail_fast=fail_fast
        )
        return make_report(
            suite,
            implementation.declaration,
            results,
            conventions=conventions,
            measured=measure_failures(implementation, results) if probes else None,
            invocation=invocation_of(reached, golden),
        )


def run_offered(
    suite: Suite,
    implementation: Implementation,
    *,
    dtypes: Sequence[str],
    conventions: Mapping[str, str],
    fail_fast: bool,
    follower: Follower | None = None,
    share: Share | None = None,
    known: Callable[[Run], Result | None] | None = None,
) -> tuple[Result, ...]:
    """Run the selected cases that concern an implementation, or the given share of them.

    The arguments are those of `attnspec.runner.run_suite`. Raises UsageError if a dtype or a convention is unknown.
    """
    check_dtypes_and_conventions(dtypes, conventions)
    offered = offered_part(suite, implementation.declaration.operations).suite
    return run_suite(
        offered if share is None else share_of(offered, share),
        implementation,
        dtypes=dtypes,
        conventions=conventions,
        fail_fast=fail_fast,
        follower=follower,
        known=known,
    )


def make_report(
    suite: Suite,
    declaration: Declaration,
    results: tuple[Result, ...],
    *,
    conventions: Mapping[str, str],
    measured: Measured | None = None,
    invocation: Invocation | None = None,
    not_run: int | None = None,
    ended_early: EndedEarly | None = None,
) -> Report:
    """Put the results of a run into a report, with an explanation of the failures.

    `conventions` are those that the command requests, over the declared ones; `not_run` is the number of (case, dtype)
    without a result in a run that ended early, for the reason `ended_early`.
    """
    left_out = offered_part(suite, declaration.operations).left_out
    resolved = Resolved({**declaration.conventions, **conventions})
    systematic, in_parts = systematic_errors(results, resolved), measured_invariance(results, resolved)
    of_run = (*systematic_failures(systematic), *invariance_failures(in_parts))
    results = (*results, *of_run, *layer_failures(declaration.layer_checks))
    diagnosis: tuple[Diagnosis, ...] = ()
    declarations: Declarations | None = None
    # The catalogue of mistakes is loaded only where there is something to explain.
    if any(result.is_wrong for result in results):
        from attnspec.diagnosis import could_be_declared, diagnose

        diagnosis = diagnose(results, laws=() if measured is None else measured.laws)
        declarations = could_be_declared([result for result in results if not result.is_of_run])
    return Report(
        declaration=declaration,
        conventions={**declaration.conventions, **conventions},
        suite_version=__version__,
        suite_digest=suite.digest,
        environment={
            "python": platform.python_version(),
            "numpy": np.__version__,
            "platform": f"{sys.platform}-{platform.machine()}",
        },
        results=results,
        left_out=left_out,
        diagnosis=diagnosis,
        could_be_declared=declarations,
        probes=None if measured is None else measured.calls,
        invocation=invocation or Invocation(),
        not_run=not_run,
        ended_early=ended_early,
        systematic=systematic,
        invariance=in_parts,
    )


def check_dtypes_and_conventions(dtypes: Sequence[str], conventions: Mapping[str, str]) -> None:
    """Raise `UsageError` if a dtype or a convention is unknown."""
    declarations.check_conventions(conventions, said_by="The command")
    for dtype in dtypes:
        if dtype not in FLOAT_DTYPES:
            raise UsageError(f"There is no dtype {dtype!r}; the dtypes are {', '.join(FLOAT_DTYPES)}.")


def check_operation(operation: str) -> None:
    """Raise `UsageError` if there is no such operation."""
    if operation not in OPERATIONS:
        raise UsageError(f"There is no operation {operation!r}; the operations are {', '.join(OPERATIONS)}.")


def measure_failures(
    implementation: Implementation, results: tuple[Result, ...], found: Callable[[Law, int], None] | None = None
) -> Measured | None:
    """Call a failing implementation, still open, again; return what it computes, or None where nothing failed.

    `found` gets each law as soon as it is there, with the number of calls until then.
    """
    if not any(result.is_wrong for result in results):
        return None
    return import_object(MEASURED)(implementation, results, found)

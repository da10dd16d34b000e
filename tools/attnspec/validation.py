"""Validating an implementation: from a target to a report."""

from __future__ import annotations

import platform
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from attnspec import conventions as convention_rules
from attnspec.adapters import load
from attnspec.contract import EXAMPLES, IN_LAYOUT, OPERATIONS
from attnspec.draws import load_selected
from attnspec.dtypes import FLOAT_DTYPES
from attnspec.errors import UsageError
from attnspec.reports.invocation import Invocation
from attnspec.reports.report import Report
from attnspec.runner import offered_part, run_suite, share_of
from attnspec.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from attnspec.adapters import Declaration, Implementation
    from attnspec.cases import Suite
    from attnspec.diagnosis import Declarations, Diagnosis
    from attnspec.probing import Law, Measured
    from attnspec.reports.wording import EndedEarly
    from attnspec.runner import Follower, Result, Run, Share


_SECONDS = 30.0
"""How long one call may take in a process of its own, where the user does not say."""

_SECONDS_TO_START = 60.0
"""How long such a process may take until it is ready: frameworks load slowly and compute fast."""


def validate(
    target: object,
    *,
    dtypes: Sequence[str] | str | None = None,
    profile: Sequence[str] | str | None = None,
    select: Sequence[str] | str | None = None,
    conventions: Mapping[str, str] | None = None,
    operation: str | None = None,
    layout: str | None = None,
    renames: Mapping[str, str] | None = None,
    device: str | None = None,
    tensors: str | None = None,
    backward: str | None = None,
    without: Sequence[str] | str = (),
    fail_fast: bool = False,
    probes: bool = True,
    golden: Path | None = None,
) -> Report:
    """Validate an implementation against the golden cases.

    The implementation runs in this process, unprotected: what ends the process ends the validation too. The command
    line guards its runs.

    Parameters
    ----------
    target
        What to validate: a built-in name (``"torch"``), a module, an instance or a class that holds callables named
        after operations, a string such as ``"package.module"`` or ``"./mine.py:MyAdapter"``, or, together with
        `operation`, one function.
    dtypes
        Dtypes to run in; those that the implementation declares if None.
    profile, select
        Profiles, and shell patterns of case ids, to run; everything if None.
    conventions
        Conventions that the implementation follows, over those that it declares, such as
        ``{"fully_masked_row": "nan"}``.
    operation
        The operation for which a bare function stands.
    layout
        One of the layouts, such as ``bshe`` or ``paged:page_size=16``, for an implementation that is laid out so; what
        it declares if None.
    renames
        The implementation's own argument name to the contract's: ``{"Q": "query"}``.
    device
        Where it is to run, for an implementation that takes one: ``"cuda"``.
    tensors
        The library whose tensors it takes and returns: ``"torch"``, ``"jax"`` or ``"numpy"``; what it declares if None.
    backward
        ``"autograd"`` has the gradients of its functions taken by the library of its tensors, and validates them, too;
        what it declares if None.
    without
        Capabilities that it does not offer, beside those that it declares: ``("float_mask", "grouped_query")``.
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
    lacks = words(as_tuple(without))
    implementation = load(
        target,
        bare_operation=operation,
        renames=contract_names(renames or {}),
        device=device,
        tensors=tensors,
        layout=layout,
        backward=backward,
    )
    with closing(implementation):
        return run_and_report(
            suite,
            in_layout(lacking(implementation, lacks), layout),
            dtypes=as_tuple(dtypes),
            conventions=conventions or {},
            fail_fast=fail_fast,
            probes=probes,
            invocation=Invocation(
                operation=operation,
                layout=layout,
                renames=renames or {},
                device=device,
                tensors=tensors,
                backward=backward,
                golden=None if golden is None else str(golden),
            ),
        )


def run_and_report(
    suite: Suite,
    implementation: Implementation,
    *,
    dtypes: Sequence[str] = (),
    conventions: Mapping[str, str] | None = None,
    fail_fast: bool = False,
    probes: bool = True,
    invocation: Invocation | None = None,
) -> Report:
    """Run the selected cases against an implementation and put everything into a report.

    Parameters
    ----------
    suite, implementation, dtypes, conventions, fail_fast
        As `attnspec.runner.run_suite` takes them.
    probes
        Whether an implementation that went wrong is called again, to measure what it computes.
    invocation
        How the implementation was reached, for the report.

    Raises
    ------
    UsageError
        If a dtype or a convention is unknown.
    """
    conventions = conventions or {}
    results = run_offered(suite, implementation, dtypes=dtypes, conventions=conventions, fail_fast=fail_fast)
    return make_report(
        suite,
        implementation.declaration,
        results,
        conventions=conventions,
        measured=measured_of(implementation, results) if probes else None,
        invocation=invocation,
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
    """Run the selected cases that concern an implementation.

    Parameters
    ----------
    suite, implementation, dtypes, conventions, fail_fast, follower, known
        As `attnspec.runner.run_suite` takes them.
    share
        Which part of the cases is run; all of them if None.

    Raises
    ------
    UsageError
        If a dtype or a convention is unknown.
    """
    check_asked(dtypes, conventions)
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
    """Put the results of a run into a report, with what explains the failures.

    Parameters
    ----------
    suite
        The selected cases.
    declaration
        What the implementation says about itself.
    results
        What came of them.
    conventions
        Conventions that the command asked for, over those that are declared.
    measured
        What probes brought; None where there were none.
    invocation
        How the implementation was reached.
    not_run
        How many (case, dtype) have no result, for a run that ended early.
    ended_early
        Why it did.
    """
    left_out = offered_part(suite, declaration.operations).left_out
    diagnosis: tuple[Diagnosis, ...] = ()
    declarations: Declarations | None = None
    # The catalogue of mistakes is loaded only where there is something to explain.
    if any(result.is_wrong for result in results):
        from attnspec.diagnosis import could_be_declared, diagnose

        diagnosis = diagnose(results, laws=() if measured is None else measured.laws)
        declarations = could_be_declared(results)
    return Report(
        declaration=declaration,
        conventions={**declaration.conventions, **conventions},
        suite_version=__version__,
        suite_digest=suite.digest,
        environment=environment(),
        results=results,
        left_out=left_out,
        diagnosis=diagnosis,
        could_be_declared=declarations,
        probes=None if measured is None else measured.calls,
        invocation=invocation or Invocation(),
        not_run=not_run,
        ended_early=ended_early,
    )


def check_asked(dtypes: Sequence[str], conventions: Mapping[str, str]) -> None:
    """Raise `UsageError` if a dtype or a convention is unknown."""
    convention_rules.check(conventions, said_by="The command")
    for dtype in dtypes:
        if dtype not in FLOAT_DTYPES:
            raise UsageError(f"There is no dtype {dtype!r}; the dtypes are {', '.join(FLOAT_DTYPES)}.")


def check_operation(operation: str) -> None:
    """Raise `UsageError` if there is no such operation."""
    if operation not in OPERATIONS:
        raise UsageError(f"There is no operation {operation!r}; the operations are {', '.join(OPERATIONS)}.")


def measured_of(
    implementation: Implementation, results: tuple[Result, ...], found: Callable[[Law, int], None] | None = None
) -> Measured | None:
    """Call an implementation again that went wrong, and return what it computes; None where nothing did.

    Parameters
    ----------
    implementation, results
        As it was run, still open, and what came of it.
    found
        Told of each law as soon as it is there, and of how many calls there were until then.
    """
    if not any(result.is_wrong for result in results):
        return None
    from attnspec.probing import measured

    return measured(implementation, results, found)


def open_target(
    target: str | None,
    command: str | None,
    *,
    operation: str | None,
    renames: Mapping[str, str],
    device: str | None,
    tensors: str | None = None,
    backward: str | None = None,
    without: Sequence[str] = (),
    layout: str | None = None,
    timeout: float | None,
    start_timeout: float | None = None,
    isolate: bool = False,
    show_stderr: bool = False,
    transcript: Path | None = None,
) -> Implementation:
    """Open what a command line names: a program, or a Python target, here or in a process of its own.

    Parameters
    ----------
    target, command
        A Python target, or a program that speaks the process protocol; one of them is None.
    operation, device, tensors, backward
        As for `validate`; for a Python target alone.
    without, layout
        As for `validate`; it is not yet asked in the layout, but may have other arguments for it.
    renames
        Contract argument to the target's own name for it, as `contract_names` gives it.
    timeout
        Seconds for each call; a Python target then runs in a process of its own.
    start_timeout
        Seconds for the start of a process.
    isolate
        Whether it does so without a time limit of the user's, too.
    show_stderr, transcript
        Whether what a process prints to its stderr is shown, and the file into which all is written that is said to it
        and by it.

    Raises
    ------
    AttnspecError
        If it cannot be loaded or started.
    """
    if command is None and timeout is None and not isolate:
        opened = load(
            target,
            bare_operation=operation,
            renames=renames,
            device=device,
            tensors=tensors,
            layout=layout,
            backward=backward,
        )
        return lacking(opened, without)
    from attnspec.adapters.process import ProcessImplementation, isolated

    limit, start = timeout or _SECONDS, start_timeout or _SECONDS_TO_START
    if command is not None:
        program = ProcessImplementation(
            command, timeout=limit, start_timeout=start, show_stderr=show_stderr, transcript=transcript
        )
        return lacking(program, without)
    assert target is not None
    apart = isolated(
        target,
        bare_operation=operation,
        renames=renames,
        device=device,
        tensors=tensors,
        layout=layout,
        backward=backward,
        timeout=limit,
        start_timeout=start,
        show_stderr=show_stderr,
        transcript=transcript,
    )
    return lacking(apart, without)


def lacking(implementation: Implementation, without: Sequence[str]) -> Implementation:
    """Return the implementation behind a wrapper that declares what it lacks, if anything; it is closed on a mistake.

    Raises
    ------
    UsageError
        If there is no such capability.
    """
    if not without:
        return implementation
    from attnspec.adapters.lacking import Lacking

    try:
        return Lacking(implementation, without)
    except UsageError:
        implementation.close()
        raise


def in_layout(implementation: Implementation, layout: str | None) -> Implementation:
    """Return the implementation behind a wrapper for its layout: the one that is asked for, else the one declared.

    Raises
    ------
    UsageError
        If there is no such layout.
    """
    layout = layout or implementation.declaration.layout
    if layout is None:
        return implementation
    from attnspec.adapters.layouts import laid_out

    return laid_out(implementation, layout)


def contract_names(renames: Mapping[str, str]) -> dict[str, str]:
    """Turn ``own name -> contract name`` round.

    Raises
    ------
    UsageError
        If a contract name does not exist.
    """
    everywhere = (OPERATIONS, *IN_LAYOUT.values())
    known = {argument for there in everywhere for operation in there.values() for argument in operation.arguments}
    for own, argument in renames.items():
        if argument not in known:
            raise UsageError(
                f"--rename {own}={argument}: no operation has an argument {argument!r}; "
                f"write your own name first: --rename {EXAMPLES.own_name}={EXAMPLES.argument}."
            )
    return {argument: own for own, argument in renames.items()}


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Read ``K=V`` options; several may stand in one text, with commas between them.

    Raises
    ------
    UsageError
        If one has no equals sign.
    """
    found: dict[str, str] = {}
    for text in words(texts):
        name, sign, value = text.partition("=")
        if not (name and sign and value):
            raise UsageError(f"{option} {text}: write it as NAME=VALUE.")
        found[name] = value
    return found


def words(texts: Sequence[str]) -> tuple[str, ...]:
    """Read words that may stand several in one text, with commas between them."""
    return tuple(word for text in texts for word in text.replace(" ", "").split(",") if word)


def as_tuple(names: Sequence[str] | str | None) -> tuple[str, ...]:
    """Return one name, several names or None as a tuple of names."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


def environment() -> dict[str, str]:
    """Return what the harness ran on."""
    import numpy as np

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": f"{sys.platform}-{platform.machine()}",
    }

"""Changed call: that of a case with its one argument changed, and what the reference gives for it."""

import numpy as np

from attnspec.cases import Case, ChangedArgument, run_attributes
from attnspec.contract.dtypes import REFERENCE_DTYPE, rounded_to
from attnspec.grading import Run
from attnspec.grading.expectation import reference_outputs


def changed_run(run: Run, changed: ChangedArgument) -> Run | None:
    """Return a run with its one argument changed; None where a convention took the attribute away.

    Its expectation is still that of the run before the change.
    """
    if changed.reversed:
        inputs = {**run.case.inputs, changed.name: np.flip(run.case.inputs[changed.name]).copy()}
        return run._replace(case=run.case._replace(inputs=inputs))
    if changed.name not in run.attributes:
        return None
    value = {changed.name: changed.value}
    case = run.case._replace(attributes={**run.case.attributes, **value})
    return run._replace(case=case, attributes={**run.attributes, **value})


def expected_by_reference(run: Run, case: Case) -> Case | None:
    """Return a changed call as a case, with the outputs of the reference.

    None where the case has no whole outputs, and where the reference refuses the call.
    """
    if case.properties is not None or case.sample or case.thinned:
        return None
    names, attributes = tuple(case.golden(run.dtype)), run_attributes(REFERENCE_DTYPE, case.attributes)
    seen = {name: rounded_to(array, run.dtype) for name, array in case.inputs.items()}
    try:
        outputs = reference_outputs(case.operation, seen, attributes)
    except ValueError:
        return None
    expected = {name: np.asarray(outputs[name]) for name in names if name in outputs}
    follows = case._replace(
        expected={"all": expected}, printed=(), changed_argument=None, is_certified=False, stored_tolerances=None
    )
    stored = run.case.stored_tolerances
    if stored is None or not stored.belong_to(run.case.parts):
        return follows
    return follows._replace(stored_tolerances=stored.of_changed_call(follows.parts))

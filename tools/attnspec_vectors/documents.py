"""Documents of the test vectors: one for each operation and profile, with inputs, expected values and tolerances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.base import __version__
from attnspec.contract import CONVENTIONS, OPERATIONS, PROFILES
from attnspec.contract.convention import Settles
from attnspec.contract.dtypes import FLOAT_DTYPES, follows_run
from attnspec.contract.operation import REQUIRED
from attnspec.families.lookup import family_of
from attnspec.grading import MustRefuse, Values
from attnspec.grading.one_rule import Bounded, bounded_outputs
from attnspec.offline.manifest import RULE
from attnspec.runner import Resolved, inputs_in_c_order, planned_runs
from attnspec.specification import clauses
from attnspec.targets import Declaration
from attnspec_vectors.flags import flags_of, note
from attnspec_vectors.numbers_as_json import attribute, json_text, row, tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.cases import Case, Suite
    from attnspec.grading import Run

FORMAT = 1
"""The version of the form. In one version fields may be added; none goes or changes its meaning."""

SCHEMA = "vectors.schema.json"


@dataclass(frozen=True)
class VectorFile:
    """One file of vectors: its operation and profile, and the document that it holds."""

    operation: str
    profile: str
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The path in the folder of a release."""
        return f"{self.operation}/{self.profile}.json"

    @property
    def text(self) -> str:
        """The content of the file."""
        return json_text(self.document)


class _Part(NamedTuple):
    """The runs of a case in all dtypes in which it has the very same inputs, attributes and expected values."""

    runs: tuple[Run, ...]
    inputs: Mapping[str, NDArray[Any]]
    outputs: tuple[Mapping[str, Bounded], ...]


def vector_files(suite: Suite) -> Iterator[VectorFile]:
    """Give the files of a suite, sorted by operation and profile; cases of which no file shows anything have none."""
    order = list(PROFILES)
    cases = sorted(suite.cases.values(), key=lambda case: (case.operation, order.index(case.profile), case.id))
    for (operation, profile), group in groupby(cases, key=lambda case: (case.operation, case.profile)):
        tests = [test for case in group for test in _tests(case)]
        if tests:
            yield VectorFile(operation, profile, _document(suite, operation, profile, tests))


def _document(suite: Suite, operation: str, profile: str, tests: list[dict[str, Any]]) -> dict[str, Any]:
    contract = OPERATIONS[operation]
    named = {
        kind: sorted({name for test in tests for name in test.get(kind, ())})
        for kind in ("clauses", "flags", "conventions")
    }
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "source": {"name": "attnspec", "version": __version__, "suite": suite.digest, "license": "Apache-2.0"},
        "operation": operation,
        "profile": profile,
        "header": [
            f"{operation}: {contract.sentence}.",
            f"Profile {profile}: {PROFILES[profile]}.",
            f"The rule: {RULE}",
        ],
        "attributes": {
            name: {"required": True} if default is REQUIRED else {"default": attribute(default, "")}
            for name, default in contract.attributes.items()
        },
        "axes": {item.name: list(item.axes) for item in (*contract.takes, *contract.gives)},
        "conventions": {
            name: {"about": CONVENTIONS[name].sentence, "choices": list(CONVENTIONS[name].choices)}
            for name in named["conventions"]
        },
        "clauses": {name: clauses()[name].text for name in named["clauses"]},
        "notes": {name: note(name) for name in named["flags"]},
        "count": len(tests),
        "tests": tests,
    }


def _tests(case: Case) -> Iterator[dict[str, Any]]:
    """Give the vectors of a case: one, or one for each group of dtypes in which its numbers are others."""
    parts = _parts(case)
    for part in parts:
        first = part.runs[0]
        dtypes = [run.dtype for run in part.runs]
        refused = isinstance(first.expected, MustRefuse)
        test: dict[str, Any] = {
            "id": case.id if len(parts) == 1 else f"{case.id}@{'+'.join(dtypes)}",
            "revision": case.revision,
            "comment": case.title,
            "flags": flags_of(first),
            "clauses": case.clauses,
            "errata": case.errata,
            "conventions": _conventions(case),
            "needs": sorted(family_of(case.operation).needs(case)),
            "dtypes": dtypes,
            "attributes": {name: attribute(value, first.dtype) for name, value in first.attributes.items()},
            "inputs": {
                name: tensor(array) if follows_run(case.inputs[name]) else tensor(array, case.inputs[name].dtype.name)
                for name, array in part.inputs.items()
            },
            "result": "invalid" if refused else "valid",
        }
        if isinstance(first.expected, MustRefuse):
            test["reason"] = first.expected.reason
        else:
            test["required"] = first.operation.required(case.inputs)
            test["expected"] = {
                name: {"shape": list(output.expected.shape), "data": row(output.expected)}
                for name, output in part.outputs[0].items()
            }
            test["tolerance"] = {
                dtype: {name: row(output.tolerance) for name, output in outputs.items()}
                for dtype, outputs in zip(dtypes, part.outputs, strict=True)
            }
        # An empty list says nothing.
        yield {name: value for name, value in test.items() if value or name in ("attributes", "inputs", "expected")}


def _parts(case: Case) -> list[_Part]:
    declaration = Declaration("", None, "", tuple(OPERATIONS), FLOAT_DTYPES, {})
    found: dict[object, _Part] = {}
    for run in planned_runs(case, FLOAT_DTYPES, declaration, Resolved(declaration.conventions)):
        if not isinstance(run.expected, (Values, MustRefuse)):
            continue
        inputs, outputs = inputs_in_c_order(run), bounded_outputs(run)
        numbers = [(name, array.astype(np.float64).tobytes()) for name, array in inputs.items()]
        numbers += [(name, output.expected.tobytes()) for name, output in outputs.items()]
        part = found.setdefault((*numbers, repr(run.attributes)), _Part((), inputs, ()))
        found[*numbers, repr(run.attributes)] = _Part((*part.runs, run), part.inputs, (*part.outputs, outputs))
    return list(found.values())


def _conventions(case: Case) -> dict[str, str]:
    """Return the conventions of which another choice would change what is expected, each with the choice that holds."""
    stored = case.stored_tolerances
    names = {*case.conventions, *(stored.sensitive_to if stored else ())}
    found = {
        name: CONVENTIONS[name].choices[0] for name in sorted(names) if CONVENTIONS[name].settles is Settles.RESULTS
    }
    if case.rejects is not None and case.rejects.convention is not None:
        name, choice = case.rejects.convention
        found[name] = choice
    return found

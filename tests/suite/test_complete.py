"""A family is whole: each file that an operation needs has its entry; a forgotten one is reported with its file."""

from pathlib import Path

import pytest

from attnspec.base.extensions import BUILT_IN
from attnspec.cases import load_suite
from attnspec.contract import FAMILIES, LAYOUTS, OPERATIONS, TITLES
from attnspec.families.lookup import family_called, family_of
from attnspec_authoring.completeness import missing
from attnspec_mistakes import mistakes_of

ROOT = Path(__file__).parents[2]
CASES = load_suite().cases.values()
each_family = pytest.mark.parametrize("family", FAMILIES)
each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


def cases_of(operation):
    return [case for case in CASES if case.operation == operation.name]


def test_every_list_has_what_must_join_it():
    assert missing() == ()


@each_family
def test_a_family_is_what_its_folder_says(family):
    contract = f"tools/attnspec/contract/{family}.json"
    assert family_called(family).name == family, f"tools/attnspec/families/{family}/family.py gives another name"
    assert TITLES[family], f"{contract} has no title"
    assert [operation for operation in OPERATIONS.values() if operation.family == family], (
        f"{contract} has no operation"
    )


@each_family
def test_a_family_lists_its_layouts_in_the_contract(family):
    arranged = set(family_called(family).layouts())
    assert arranged <= set(LAYOUTS), f"tools/attnspec/contract/{family}.json: layouts lacks one of {arranged}"


def test_every_layout_but_the_contracts_own_is_arranged_by_a_family():
    arranged = {layout for family in FAMILIES for layout in family_called(family).layouts()}
    assert set(LAYOUTS[1:]) == arranged, "a contract lists layouts that no family arranges"


@each_operation
def test_every_tensor_of_an_operation_has_its_axes(operation):
    file = f"tools/attnspec/contract/{operation.family}.json"
    for name, axes in operation.axes.items():
        arrays = [array for case in cases_of(operation) for array in tensors(case, name) if case.rejects is None]
        ranks = {array.ndim for array in arrays}
        given = operation.outputs_by_name[name].where_given if name in operation.outputs_by_name else None
        if axes and not operation.broadcasting.isdisjoint((name, given)):
            assert max(ranks, default=0) <= len(axes), f"{file}: {operation.name} gives {name} too few axes"
        elif axes:
            assert ranks <= {len(axes)}, f"{file}: {operation.name} gives {name} the axes {axes}, and cases {ranks}"
        else:
            assert ranks == {0} or len(ranks) != 1, f"{file}: {operation.name} gives {name} no axes"


def tensors(case, name):
    given = [case.inputs[name]] if name in case.inputs else []
    return [*given, *(outputs[name] for outputs in (case.expected or {}).values() if name in outputs)]


@each_operation
def test_an_operation_has_a_formula_features_and_tolerances(operation):
    room, family = f"tools/attnspec/families/{operation.family}", family_of(operation.name)
    for case in cases_of(operation):
        if case.rejects is None:
            try:
                lines = family.formula(case)
            except KeyError:
                pytest.fail(f"{room}/formulas.py has no formula of {operation.name}")
            assert any(line.startswith(f"{operation.outputs[0]} = ") or operation.outputs[0] in line for line in lines)
        assert family.features(case) is not None, f"{room} has no features of cases of {operation.name}"


@each_operation
def test_the_clauses_of_an_operation_begin_with_its_short_name(operation):
    page = f"spec/operations/{operation.family}/{operation.name}.md"
    text = (ROOT / page).read_text("utf-8")
    assert f"- `{operation.short_name}." in text, f"{page} has no clause that begins with {operation.short_name}"
    for mistake in mistakes_of(operation.name):
        file = f"reference_impl/attnspec_mistakes/{operation.family}/"
        assert mistake.id.startswith(f"{operation.short_name}."), (
            f"{file}: {mistake.id} is a mistake of {operation.name}"
        )


def test_every_library_that_is_built_in_is_listed():
    listed = {target.partition(":")[0].rpartition(".")[2] for target in BUILT_IN.values()}
    doors = sorted((ROOT / "tools" / "attnspec_adapters").rglob("*.py"))
    built_in = [
        (door.parent if door.stem == "__init__" else door).stem
        for door in doors
        if door.read_text("utf-8").startswith('"""The built-in adapter')
    ]
    assert {"flax", "jax", "torch"} < {*built_in}
    for name in built_in:
        assert name in listed, f"tools/attnspec/base/extensions.py (BUILT_IN) does not list {name}"

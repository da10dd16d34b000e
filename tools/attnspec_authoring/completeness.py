"""Completeness of the suite: the lists that operations, mistakes and controls must join, and which of them lacks one.

Each list is compared with all others, so that whatever is forgotten is named by one sentence with its file. A list that
others are read with comes first: where it lacks something, the others are not looked at.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnspec.base.errors import RecipeError
from attnspec.base.files import GOLDEN_FOLDER
from attnspec.bounds import precision_of
from attnspec.cases.reading import read_case, read_index
from attnspec.contract import CAPABILITIES, CONVENTIONS, FAMILIES, OPERATIONS, PROFILES
from attnspec.contract.declarations import CHOICES
from attnspec.families.lookup import family_called, family_of
from attnspec.grading import is_clause_of_run
from attnspec.specification import clauses
from attnspec_authoring.pictures import file_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from attnspec.cases import Case
    from attnspec.contract.operation import Operation
    from attnspec_authoring.recipes import AuthoredCase

_ROOT = Path(__file__).parents[2]
_SPEC = _ROOT / "spec"
_CONTRACT = "tools/attnspec/contract"
_ROOM = "tools/attnspec/families"
_RECIPES = "tools/attnspec_authoring/recipes"
_REFERENCE = "reference_impl/attnspec_reference/__init__.py"
_MISTAKES = "reference_impl/attnspec_mistakes"
_CONTROLS = "reference_impl/attnspec_controls"
_ORACLE = "reference_impl/attnspec_oracle"
_README_ROW = re.compile(r"^\| \[`\w+`\]\(operations/(\w+)/(\w+)\.md\)", re.MULTILINE)


def missing() -> tuple[str, ...]:
    """Return a sentence for each list that lacks an entry, with its file; none where the suite is complete."""
    for stage in (_names, _rooms, _catalogue, _recipes, _contents):
        found = tuple(dict.fromkeys(stage()))
        if found:
            return found
    return ()


def _names() -> Iterator[str]:
    """Compare the lists of operations: contract, pages, the first page of the spec, the reference."""
    try:
        import attnspec_reference
    except ImportError as error:
        yield f"{_REFERENCE} imports what is not there: {error}."
        return
    pages = {page.stem: page.parent.name for page in (_SPEC / "operations").glob("*/*.md")}
    listed = {name: family for family, name in _README_ROW.findall((_SPEC / "README.md").read_text("utf-8"))}
    contract = {operation.name: operation.family for operation in OPERATIONS.values()}
    of_layouts = {function.__name__ for there in attnspec_reference.IN_LAYOUT.values() for function in there.values()}
    exported = {
        name: getattr(attnspec_reference, name).__module__.split(".")[1]
        for name in attnspec_reference.__all__
        if name.islower() and name not in of_layouts and hasattr(attnspec_reference, name)
    }
    lists: dict[str, Mapping[str, str]] = {
        _CONTRACT + "/{family}.json (operations)": contract,
        "spec/operations/{family}/ (the page {operation}.md)": pages,
        "spec/README.md (The operations)": listed,
        _REFERENCE + " (its import and __all__)": exported,
    }
    families = {**exported, **listed, **pages, **contract}
    for file, entries in lists.items():
        yield from _lacking(
            (file.format(family=families[name], operation=name), name) for name in families if name not in entries
        )


def _rooms() -> Iterator[str]:
    """Look whether each family has its record."""
    for family in FAMILIES:
        if not (_ROOT / _ROOM / family / "family.py").is_file():
            yield f"{_ROOM}/{family}/ lacks family.py, the record of {family}."
        elif family_called(family).name != family:
            yield f"{_ROOM}/{family}/family.py (FAMILY) lacks the name {family}."


def _catalogue() -> Iterator[str]:
    """Look for mistakes and controls of each operation, and for modules of them that their families do not list."""
    try:
        from attnspec_mistakes import CATALOGUE
    except ValueError as error:
        yield f"{_MISTAKES}: {error}"
        return
    names = {operation.short_name: operation.name for operation in OPERATIONS.values()}
    known = {mistake.id for mistake in CATALOGUE}
    breaking = {mistake.clause: mistake for mistake in reversed(CATALOGUE)}
    for mistake in breaking.values():
        short_name = mistake.id.partition(".")[0]
        if short_name not in names:
            yield f"{_CONTRACT} (short_name of an operation) lacks {short_name}, which the mistake {mistake.id} is of."
        elif mistake.operation not in OPERATIONS:
            yield f"{_MISTAKES}/mistake.py (_OPERATIONS) lacks {short_name}: {names[short_name]}."
        elif mistake.clause not in clauses():
            page = f"spec/operations/{OPERATIONS[names[short_name]].family}/{names[short_name]}.md"
            yield f"{page} (Clauses) lacks {mistake.clause}, which the mistake {mistake.id} breaks."
    for texts in sorted((_ROOT / _MISTAKES).glob("*/**/*.json")):
        module = texts.relative_to(_ROOT / _MISTAKES).with_suffix("")
        # A module may have a list of its own, for those that are run on request alone.
        on_request = hasattr(import_module(".".join(("attnspec_mistakes", *module.parts))), "MISTAKES")
        if not on_request and known.isdisjoint(json.loads(texts.read_bytes())):
            yield f"{_MISTAKES}/{module.parts[0]}/__init__.py (MISTAKES) lacks those of {module.name}."
            return
    with_mistakes = {names.get(identifier.partition(".")[0], "") for identifier in known}
    yield from _without(f"{_MISTAKES}/{{family}}/ (FUNCTIONS, and its texts)", with_mistakes)
    yield from _controls()


def _controls() -> Iterator[str]:
    controls = import_module("attnspec_controls").CONTROLS
    known = {control.id for control in controls}
    for path in sorted((_ROOT / _CONTROLS).glob("*/**/[!_]*.py")):
        module = path.relative_to(_ROOT / _CONTROLS).with_suffix("")
        own = getattr(import_module(".".join(("attnspec_controls", *module.parts))), "CONTROLS", ())
        if not known.issuperset(control.id for control in own):
            yield f"{_CONTROLS}/{module.parts[0]}/__init__.py (CONTROLS) lacks those of {module.name}."
            return
    # What gives random numbers has no values, so that no other way can be compared with it.
    random = {operation.name for operation in OPERATIONS.values() if "seed" in operation.attributes}
    yield from _without(f"{_CONTROLS}/{{family}}/ (CONTROLS)", {*random, *(control.operation for control in controls)})


def _recipes() -> Iterator[str]:
    """Look for recipes, golden files and exact values of each operation, and for what recipes are there to catch."""
    recipes = import_module("attnspec_authoring.recipes")
    evaluated = import_module("attnspec_oracle.evaluation").OPERATIONS
    try:
        cases: tuple[AuthoredCase, ...] = (*recipes.authored_cases(), *recipes.sampled_cases())
    except RecipeError as error:
        yield f"{_RECIPES}: {error}"
        return
    written = {case.operation for case in cases}
    yield from _without(f"{_RECIPES}/{{family}}/__init__.py (its cases)", written)
    with_values = {case.operation for case in cases if case.rejects is None and case.properties is None}
    yield from _without(
        f"{_ORACLE}/{{family}}/operations.py (OPERATIONS)", {*evaluated, *({*OPERATIONS} - with_values)}
    )
    for profile, family in {case.profile: OPERATIONS[case.operation].family for case in cases}.items():
        if profile not in PROFILES:
            yield f"{_CONTRACT}/{family}.json (profiles) lacks {profile}."
    indexed = read_index(GOLDEN_FOLDER)
    unwritten = Counter(case.operation for case in cases if case.id not in indexed)
    for operation, count in unwritten.items():
        files = "1 file" if count == 1 else f"{count} files"
        yield f"golden/ lacks {files} of {operation}: run `attnspec regenerate`."
    targeted = {mistake for case in cases for mistake in case.targets}
    for mistake in import_module("attnspec_mistakes").CATALOGUE:
        if mistake.id not in targeted and mistake.operation in written:
            yield f"{_RECIPES}/{OPERATIONS[mistake.operation].family}/targets.py (TARGETS) lacks {mistake.id}."
    exercised = {clause for case in cases for clause in case.clauses}
    names = {f"{operation.family}/{operation.name}.md": operation.name for operation in OPERATIONS.values()}
    for clause in clauses().values():
        if names[clause.page] in written and clause.id not in exercised and not is_clause_of_run(clause.id):
            yield f"{_RECIPES}/{clause.page.partition('/')[0]}/ (the clauses of a case) lacks {clause.id}."


def _contents() -> Iterator[str]:
    """Look whether families, matrix, random cases and pages know each operation."""
    smallest = _smallest_cases()
    for operation in OPERATIONS.values():
        family, room = family_of(operation.name), f"{_ROOM}/{operation.family}"
        questions: dict[str, Callable[[Case], Any]] = {
            f"{room}/ (features)": family.features,
            f"{room}/ (formula)": family.formula,
            f"{room}/ (tolerance)": lambda case, family=family: _tolerance(family, case),
        }
        for file, ask in questions.items():
            try:
                known = ask(smallest[operation.name]) is not None
            except KeyError:
                known = False
            if not known:
                yield f"{file} lacks {operation.name}."
        yield from _random_cases(operation, has_values=smallest[operation.name].expected is not None)
    matrix = import_module("attnspec_mistakes.kill_matrix")
    untried = Counter(
        mistake.operation for mistake in import_module("attnspec_mistakes").CATALOGUE if not matrix.was_tried(mistake)
    )
    for operation, count in untried.items():
        mistakes = "a mistake" if count == 1 else f"{count} mistakes"
        yield (
            f"{_MISTAKES}/kill_matrix.json lacks {mistakes} of {operation}: "
            "run `attnspec mistakes --matrix --write-noticed`."
        )
    yield from _pictures()
    yield from _tables_of_the_spec()


def _pictures() -> Iterator[str]:
    """Look for the picture of each operation, and whether the page shows it."""
    for operation in OPERATIONS.values():
        if not file_of(operation.name).is_file():
            yield f"spec/pictures/ lacks {operation.name}.svg: run `python -m attnspec_authoring.pictures`."
        page = f"spec/operations/{operation.family}/{operation.name}.md"
        if f"](../../pictures/{operation.name}.svg)" not in (_ROOT / page).read_text("utf-8"):
            yield f"{page} lacks its picture: ![...](../../pictures/{operation.name}.svg)."


def _tolerance(family: Any, case: Case) -> Any:
    if case.expected is None:
        return ()
    choices = {name: choices[0] for name, choices in CHOICES.items()}
    return family.tolerance(case.operation, case.inputs, case.attributes, precision_of("float64"), choices)


def _random_cases(operation: Operation, *, has_values: bool) -> Iterator[str]:
    """Compare what is drawn with the trivial answers that a verdict must distinguish."""
    random_cases = import_module("attnspec_draws.generators.random_cases").random_cases_of(operation.name)
    answers = {answer.name for answer in random_cases.trivial_answers.get(operation.name, ())}
    drawn = operation.name in random_cases.case_generators
    room = f"tools/attnspec_draws/{operation.family}"
    if drawn and has_values and "zeros" not in answers:
        yield f"{room}/__init__.py (trivial_answers) lacks {operation.name}, or its zeros."
    if answers and not drawn:
        yield f"{room}/operations/__init__.py (CASE_GENERATORS) lacks {operation.name}."


def _tables_of_the_spec() -> Iterator[str]:
    """Compare the tables in which the spec explains the words of the contract with these."""
    tables: dict[tuple[str, str], Mapping[str, str]] = {
        ("README.md", "The operations"): {name: operation.sentence for name, operation in OPERATIONS.items()},
        ("conventions.md", "Conventions"): {name: convention.sentence for name, convention in CONVENTIONS.items()},
        ("conventions.md", "Capabilities"): CAPABILITIES,
        ("goldens-and-tolerance.md", "Profiles"): PROFILES,
    }
    for (page, section), words in tables.items():
        text = (_SPEC / page).read_text("utf-8").partition(f"## {section}\n")[2].partition("\n## ")[0]
        rows = {row.partition("`")[2].partition("`")[0]: row for row in text.splitlines() if row.startswith("|")}
        for word, sentence in words.items():
            if sentence not in rows.get(word, ""):
                yield f"spec/{page} ({section}) lacks `{word}`: {sentence}."


def _smallest_cases() -> Mapping[str, Case]:
    """Return a valid golden case of each operation, the first of those that its recipes name."""
    found: dict[str, Case] = {}
    index = read_index(GOLDEN_FOLDER)
    for case in import_module("attnspec_authoring.recipes").authored_cases():
        if case.operation not in found and case.rejects is None:
            found[case.operation] = read_case(GOLDEN_FOLDER, case.id, index[case.id])
    return found


def _without(file: str, names: Iterable[str]) -> Iterator[str]:
    names = {*names}
    absent = (operation for operation in OPERATIONS.values() if operation.name not in names)
    return _lacking((file.format(family=operation.family), operation.name) for operation in absent)


def _lacking(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Say of each list which entries it lacks, in one sentence."""
    by_list: dict[str, list[str]] = {}
    for file, name in entries:
        by_list.setdefault(file, []).append(name)
    return (f"{file} lacks {', '.join(names)}." for file, names in by_list.items())

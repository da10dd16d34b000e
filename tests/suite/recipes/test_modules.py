"""Every case is written in the package or module that is named like its profile, where a reader looks for it."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from attnspec_authoring import recipes

FOUND = iter_modules(recipes.__path__)
FAMILIES = [import_module(f"{recipes.__name__}.{found.name}") for found in FOUND if found.ispkg]


@cache
def written():
    """Return each case that a module or package of a family gives, behind the module and its name."""
    return [
        (module, found.name, case)
        for family in FAMILIES
        for found in iter_modules(family.__path__)
        if hasattr(module := import_module(f"{family.__name__}.{found.name}"), "cases")
        for case in module.cases()
    ]


def test_every_case_comes_from_the_module_of_its_profile() -> None:
    misplaced = [
        f"{case.id} is written in {module.__name__}; move it to the module or package {case.profile!r} beside it"
        for module, name, case in written()
        if case.profile != name
    ]
    assert not misplaced, "\n".join(misplaced)


def test_the_modules_give_all_cases() -> None:
    given = sorted(case.id for _, _, case in written())
    made = (*recipes.authored_cases(), *recipes.sampled_cases())
    assert given == sorted(case.id for case in made)

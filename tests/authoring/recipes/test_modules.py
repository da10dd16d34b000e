"""Every case is written in the package or module that is named like its profile, where a reader looks for it."""

from importlib import import_module
from pkgutil import iter_modules

from attnspec_authoring import recipes

FOUND = iter_modules(recipes.__path__)
FAMILIES = [import_module(f"{recipes.__name__}.{found.name}") for found in FOUND if found.ispkg]


def sources():
    """Yield each module or package of a family that gives cases, with its name."""
    for family in FAMILIES:
        for found in iter_modules(family.__path__):
            module = import_module(f"{family.__name__}.{found.name}")
            if hasattr(module, "cases"):
                yield found.name, module


def test_every_case_comes_from_the_module_of_its_profile() -> None:
    misplaced = [
        f"{case.id} is written in {module.__name__}; move it to the module or package {case.profile!r} beside it"
        for name, module in sources()
        for case in module.cases()
        if case.profile != name
    ]
    assert not misplaced, "\n".join(misplaced)


def test_the_modules_give_all_cases() -> None:
    given = sorted(case.id for _, module in sources() for case in module.cases())
    assert given == [case.id for case in recipes.authored_cases()]

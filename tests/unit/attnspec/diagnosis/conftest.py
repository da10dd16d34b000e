"""The switched engine, and diagnoses of what it answers."""

import importlib.util
import sys
from functools import cache
from pathlib import Path

import pytest

from attnspec.cases import load_suite
from attnspec.diagnosis import diagnose
from attnspec.runner import run_suite
from attnspec.targets import load
from attnspec_mistakes import CATALOGUE

ENGINE = Path(__file__).parents[3] / "examples" / "switched_engine" / "__init__.py"
OPERATIONS = {mistake.id.partition(".")[0]: mistake.operation for mistake in CATALOGUE}


@cache
def switched_engine():
    name = "switched_engine"
    specification = importlib.util.spec_from_file_location(
        name, ENGINE, submodule_search_locations=[str(ENGINE.parent)]
    )
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module.SwitchedEngine


EVERY_FEATURE = ("core", "masking", "causal", "window", "softcap", "alibi", "sinks", "cache", "varlen")
PROFILES = ("documents", "core", "masking", "causal", "grouped_query", "layout")


@cache
def cases_of(operation):
    """The cases of an operation, those of attention in the profiles that every student meets, which takes less time."""
    ids = tuple(case.id for case in load_suite(profiles=PROFILES).cases.values() if case.operation == operation)
    return load_suite(select=ids)


@pytest.fixture(scope="session")
def engine():
    """The class of the engine."""
    return switched_engine()


@pytest.fixture(scope="session")
def run():
    """Run the engine, with some mistakes, over the cases of the operation that these are mistakes in."""

    @cache
    def run_engine(*mistakes, dtype="float64", **settings):
        cases = cases_of(OPERATIONS[mistakes[0].partition(".")[0]])
        return run_suite(cases, load(switched_engine()(*mistakes, **settings)), dtypes=[dtype])

    return run_engine


@pytest.fixture(scope="session")
def diagnosis_of(run):
    """Diagnose what the engine does with some mistakes; give every entry."""

    def diagnosed(*mistakes, without=frozenset(), **settings):
        return diagnose(run(*mistakes, **settings), without)

    return diagnosed


@pytest.fixture(scope="session")
def diagnosis_with(engine):
    """Diagnose an engine whose attention is changed by a function of its output and the call's arguments."""

    def diagnosed(change, dtypes=("float64",)):
        class Changed(engine):
            def scaled_dot_product_attention(self, query, key, value, **arguments):
                output = super().scaled_dot_product_attention(query, key, value, **arguments)
                return change(output.copy(), query=query, key=key, value=value, **arguments)

        cases = cases_of("scaled_dot_product_attention")
        (entry,) = diagnose(run_suite(cases, load(Changed()), dtypes=dtypes))
        return entry

    return diagnosed


@pytest.fixture(scope="session")
def diagnosis_of_changed(engine):
    """Diagnose an engine whose attention is requested with other arguments: a function of query and arguments."""

    def diagnosed(change, **settings):
        class Changed(engine):
            def scaled_dot_product_attention(self, query, key, value, **arguments):
                return super().scaled_dot_product_attention(query, key, value, **change(query, arguments))

        cases = load_suite(profiles=EVERY_FEATURE)
        return diagnose(run_suite(cases, load(Changed(**settings)), dtypes=["float64"]))

    return diagnosed

"""A few golden cases in a folder of their own, and matrices made by hand."""

import shutil
from pathlib import Path

import pytest

from attnspec_authoring.proof import Matrix, Trial

GOLDEN = Path(__file__).parents[4] / "golden"
FEW = ("layout/softmax_columns", "layout/softmax_large", "layout/split_heads_two", "layout/causal_mask_square")


@pytest.fixture
def few(tmp_path):
    """A golden folder, without an index, of a few cases."""
    folder = tmp_path / "golden"
    for case_id in FEW:
        path = folder / f"{case_id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(GOLDEN / f"{case_id}.json", path)
    return folder


def _trial(identifier, wrong, *, kind="mistake", clause="softmax.definition", shows_in=("float64", "float32")):
    """One trial, which was noticed by the cases named a dtype."""
    cases = {dtype: dict.fromkeys(names, "values") for dtype, names in wrong.items()}
    if kind == "control":
        return Trial(identifier, "control", "softmax", None, (), cases)
    return Trial(identifier, "mistake", "softmax", clause, shows_in, cases)


def _matrix(trials, *, targets=None, cases=("a/1", "a/2", "a/3")):
    """A matrix of trials over cases of softmax."""
    return Matrix(
        suite_version="0",
        suite_digest="0" * 64,
        dtypes=("float64", "float32", "float16", "bfloat16"),
        cases=dict.fromkeys(cases, "softmax"),
        targets=targets or {},
        trials=tuple(trials),
        seconds=1.0,
    )


@pytest.fixture
def trial():
    """Makes one trial by hand."""
    return _trial


@pytest.fixture
def matrix():
    """Makes a matrix of trials by hand."""
    return _matrix

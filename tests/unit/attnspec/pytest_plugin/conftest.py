"""Runs of pytest with this plugin, in a folder that holds a right softmax and a wrong one."""

import sys

import pytest

import attnspec.cases  # noqa: F401 - NumPy cannot be loaded again by each run of pytest in this process

RIGHT = """
import numpy as np

dtypes = ("float64", "float32")

def softmax(x, axis=-1):
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
"""

WRONG = RIGHT + "\nright = softmax\ndef softmax(x, axis=-1):\n    return right(x, 0)\n"


@pytest.fixture
def right():
    """The source of right.py, to write variants of it."""
    return RIGHT


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest with this plugin and no other installed one, in a folder that holds right.py and wrong.py.

    Runs that remember what failed, and those that are typed at, are processes of their own.
    """
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    pytester.makepyfile(right=RIGHT, wrong=WRONG)

    def run_pytest(*arguments, apart=False, remembers=False, typed=None):
        options = ("-p", "attnspec.pytest_plugin", *(() if remembers else ("-p", "no:cacheprovider")), *arguments)
        if typed is not None:
            return pytester.run(
                sys.executable, "-m", "pytest", *options, stdin="".join(f"{s}\n" for s in typed).encode()
            )
        return pytester.runpytest_subprocess(*options) if apart or remembers else pytester.runpytest_inprocess(*options)

    return run_pytest

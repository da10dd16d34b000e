"""Reports of small implementations, right, wrong and hostile, as documents."""

import json
from pathlib import Path

import numpy as np
import pytest

import attnspec
from attnspec.cases import load_suite
from attnspec.reports import report_to_json

ALMOST_RIGHT = Path(__file__).parents[3] / "tools" / "screenshots" / "almost_right.py"
HOSTILE = "<script>alert(1)</script></script><img src=x onerror=alert(2)>\x1b[31m\x00\u202e\ud800 & \u2028"
SELECTED = ("causal/square*", "masking/bool*", "softcap/p*", "layout/softmax_*", "documents/004/*", "core/*")


class Hostile:
    """An adapter whose name and messages try to leave their place."""

    name = HOSTILE
    version = HOSTILE
    dtypes = ("float64", "float32")

    def softmax(self, x, axis=-1):
        raise ValueError(HOSTILE + "y" * 10_000)

    def scaled_dot_product_attention(self, query, key, value):
        return np.full((*query.shape[:-1], value.shape[-1]), np.nan)


def run(target, *select, **options):
    """The report.json document of one run, as read back from a file."""
    report = attnspec.validate(target, select=select, **options)
    return json.loads(json.dumps(report_to_json(report)))


@pytest.fixture(scope="session")
def document_of():
    return run


@pytest.fixture(scope="session")
def suite():
    return load_suite()


@pytest.fixture(scope="session")
def wrong():
    """Attention whose causal mask hides the diagonal, and a softmax that overflows."""
    return run(str(ALMOST_RIGHT), *SELECTED)


@pytest.fixture(scope="session")
def right():
    return run("reference", *SELECTED)


@pytest.fixture(scope="session")
def hostile():
    return run(Hostile(), "core/m*", "layout/softmax_*")

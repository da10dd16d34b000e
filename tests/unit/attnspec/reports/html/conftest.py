"""Reports of small implementations, right, wrong and hostile, as documents and as pages in a browser."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.cases import load_suite
from attnspec.contract import OPERATIONS
from attnspec.grading import STATUSES
from attnspec.reports.formats import report_to_json
from attnspec.reports.html import html_page

ALMOST_RIGHT = Path(__file__).parents[5] / "tools" / "screenshots" / "almost_right.py"
HOSTILE = "<script>alert(1)</script></script><img src=x onerror=alert(2)>\x1b[31m\x00\u202e\ud800 & \u2028"
SELECTED = ("causal/square*", "masking/bool*", "softcap/p*", "layout/softmax_*", "documents/004/*", "core/*")


DESKTOP = {"width": 1180, "height": 900}


class Hostile:
    """An adapter whose name and messages try to leave their line."""

    name = HOSTILE
    version = HOSTILE
    dtypes = ("float64", "float32")

    def softmax(self, x, axis=-1):
        raise ValueError(HOSTILE + "y" * 10_000)

    def scaled_dot_product_attention(self, query, key, value):
        return np.full((*query.shape[:-1], value.shape[-1]), np.nan)


class AcceptsAll:
    """Gives back the values for every request."""

    dtypes = ("float64",)

    def scaled_dot_product_attention(self, query, key, value, mask=None, is_causal=False, scale=None):
        return value


class SlightlyOff:
    """The reference, of which every second number is a little too large; it gives back every step."""

    dtypes = ("float64", "float16")

    def __getattr__(self, operation):
        if operation not in OPERATIONS:
            raise AttributeError(operation)

        def computed(**arguments):
            given = getattr(attnspec_reference, operation)(**arguments)
            outputs = given if isinstance(given, tuple) else (given,)
            return dict(zip(OPERATIONS[operation].outputs, map(self._off, outputs), strict=True))

        return computed

    @staticmethod
    def _off(output):
        off = output.copy()
        off.flat[::2] *= off.dtype.type(1.25)
        return off


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
def slightly_off():
    """Many cases of every family, which fail in some elements and outputs."""
    chosen = ("documents/*", "nonfinite/h*", "tails/*_1*", "varlen/al*", "sinks/*", "rotary/*_[ab]*")
    return run(SlightlyOff(), *chosen)


@pytest.fixture(scope="session")
def accepts_all():
    """An implementation that refuses nothing."""
    return run(AcceptsAll(), "rejects/*")


@pytest.fixture(scope="session")
def right():
    return run("reference", *SELECTED)


@pytest.fixture(scope="session")
def hostile():
    return run(Hostile(), "core/m*", "layout/softmax_*")


@pytest.fixture(scope="session")
def every_status(wrong):
    """The wrong one again, of which something else went wrong in some cases."""
    document = copy.deepcopy(wrong)
    passed = [result for result in document["results"] if result["status"] == "pass"]
    for result, status in zip(passed, STATUSES, strict=False):
        result.update(status=status, message=f"This is what {status} says. " * 80)
    return document


@pytest.fixture(scope="session")
def files(tmp_path_factory, wrong, right, hostile, every_status, slightly_off, accepts_all, suite):
    """The addresses of some pages."""
    folder = tmp_path_factory.mktemp("pages")
    name = hostile["implementation"]["name"]
    pages = {
        "wrong": html_page([wrong], ["almost right 0.3"], suite, detailed=["masking/boolean_rank_2"]),
        "right": html_page([right], ["reference"], suite),
        "both": html_page([wrong, right], ["almost right", "reference"], suite, notes=["Left out: torn.json is cut."]),
        "every_status": html_page([every_status], ["every status"], suite),
        "slightly_off": html_page([slightly_off], ["slightly off"], suite),
        "accepts_all": html_page([accepts_all], ["accepts all"], suite),
        "hostile": html_page([hostile], [name], suite, notes=[name]),
    }
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in pages}


@pytest.fixture
def opened(context, files):
    """Open pages; at the end, none has complained, sent a request, or opened a dialog."""
    pages, complaints, requests = [], [], []

    def open_page(name, address="", size=DESKTOP, colours="light"):
        page = context.new_page()
        pages.append(page)
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=colours)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(files[name] + address)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert complaints == []
    assert {url.partition("#")[0] for url in requests} <= set(files.values())

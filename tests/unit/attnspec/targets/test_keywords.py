"""Messages to a caller from Python: keywords in place of the options of a command line, whatever the target."""

import re

import pytest

import attnspec
from attnspec.targets.keywords import in_python
from attnspec.targets.target import TargetOptions, option_of


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("say which it is: --as OPERATION", "say which it is: operation=OPERATION"),
        ("--as softmax needs a function", 'operation="softmax" needs a function'),
        ("say so: --rename q=query --rename k=key.", 'say so: renames={"q": "query", "k": "key"}.'),
        ("or rename it: --rename zz=ARGUMENT (x)", 'or rename it: renames={"zz": ARGUMENT} (x)'),
        ("first: --rename Q=query.", 'first: renames={"Q": "query"}.'),
        (
            "declare it: --convention a=b,no_keys@float16=nan.",
            'declare it: conventions={"a": "b", "no_keys@float16": "nan"}.',
        ),
        ("--without float_mask,grouped_query", 'without=("float_mask", "grouped_query")'),
        ("--without float_mask.", 'without="float_mask".'),
        ("--layout paged:page_size=16, or", 'layout="paged:page_size=16", or'),
        ("--device cuda:0: NumPy has none; --tensors torch", 'device="cuda:0": NumPy has none; tensors="torch"'),
        ("--device no such device: NumPy has none: none", 'device="no such device": NumPy has none: none'),
        ("say --layout, one of bshe", "say layout=…, one of bshe"),
        ("--no-probes forbids it", "probes=False forbids it"),
        ("--isolate, --astray and ./a--as.py stay", "--isolate, --astray and ./a--as.py stay"),
    ],
)
def test_an_option_becomes_its_keyword(message, said):
    assert in_python(message) == said


def test_every_keyword_about_a_target_is_known():
    for name in TargetOptions.__annotations__:
        assert in_python(f"say {option_of(name)} so") == f"say {name}=… so"


def attention(q, k, v):
    return q


class Stateful:
    def __init__(self, width):
        self.width = width


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (attention, {"operation": "softmax"}),
        (attention, {"operation": "single_head_attention"}),
        (attention, {"operation": "softmax", "renames": {"q": "nothing"}}),
        (attention, {"operation": "softmax", "renames": {"q": "x"}, "device": "cuda"}),
        (attention, {"operation": "softmax", "renames": {"q": "x"}, "backward": "autograd"}),
        (lambda first, second: first, {}),
        (Stateful, {}),
        (3, {}),
        ({}, {"operation": "softmax"}),
        ("reference", {"device": "cuda"}),
        ("reference", {"backward": "autograd"}),
        ("reference", {"layout": "nowhere"}),
    ],
)
def test_an_error_names_no_option_of_the_command_line(target, options):
    with pytest.raises(attnspec.AttnspecError) as caught:
        attnspec.validate(target, select="core/plain", **options)
    assert not re.search(r"--\w", str(caught.value)), str(caught.value)


def test_the_judge_and_load_speak_so_too():
    operation = "scaled_dot_product_attention"
    shapes = {
        "operation": operation,
        "dtypes": ["float32"],
        "shapes": [{name: [1, 1, 2, 3] for name in ("query", "key", "value")}],
    }
    with pytest.raises(attnspec.AttnspecError, match=re.escape('renames={"Q": "nothing"}: ')):
        attnspec.judge("./kernel.py:f", shapes, renames={"Q": "nothing"})
    with pytest.raises(attnspec.AttnspecError, match=re.escape('device="cuda": reference takes no device')):
        attnspec.load("reference", device="cuda")
    with pytest.raises(attnspec.AttnspecError, match=re.escape('say so: renames={"x": "q"}')):
        attnspec.load(attention, bare_operation="softmax")
    with pytest.raises(attnspec.AttnspecError, match=re.escape("Say it: bare_operation=OPERATION")):
        attnspec.load(lambda first, second: first)


def test_a_notebook_shows_the_sentence_and_no_lines_of_attnspec():
    with pytest.raises(attnspec.AttnspecError) as caught:
        attnspec.validate(3)
    assert caught.value._render_traceback_() == [f"TargetError: {caught.value}"]

"""What a module declares beside its functions: what it lacks, its dtypes by operation, conventions for some cases."""

import numpy as np
import pytest

import attnspec
from attnspec.base.errors import AttnspecError
from attnspec.process.messages import read_started
from attnspec.process.served_messages import started_message
from attnspec.runner import Resolved
from attnspec.targets import load

MODULE = """
import numpy as np
{declared}
def softmax(x, axis=-1):
    return x
def scaled_dot_product_attention(query, key, value):
    return value
def other(query, key, value):
    return value
"""


def module(folder, declared):
    path = folder / "mine.py"
    path.write_text(MODULE.format(declared=declared))
    return str(path)


def test_dtypes_by_operation(tmp_path):
    declared = 'dtypes = {"softmax": ("float32",), "scaled_dot_product_attention": ("float16", "float32")}'
    declaration = load(module(tmp_path, declared)).declaration
    assert declaration.dtypes == ("float32", "float16")
    assert declaration.dtypes_offered("softmax") == ("float32",)
    report = attnspec.validate(module(tmp_path, declared), select="pairs/softmax_0*", probes=False)
    assert {result.status for result in report.results if result.dtype == "float16"} == {"unsupported"}
    assert {result.status for result in report.results if result.dtype == "float32"} != {"unsupported"}


@pytest.mark.parametrize(
    ("declared", "quoted"),
    [
        ('dtypes = {"softmacs": ("float32",)}', "softmacs"),
        ('without = ("float_masks",)', "float_masks"),
        ("without = 3", "int"),
        ('conventions = {"fully_masked_row@float65": "nan"}', "float65"),
        ('tensors = "pytorch"', "pytorch"),
    ],
)
def test_a_wrong_declaration_is_quoted(tmp_path, declared, quoted):
    with pytest.raises(AttnspecError, match=quoted):
        load(module(tmp_path, declared))


def test_one_function_keeps_what_its_file_declares(tmp_path):
    declared = 'dtypes = ("float32",)\nwithout = "float_mask, grouped_query"\nconventions = {"input_checks": "lenient"}'
    declaration = load(f"{module(tmp_path, declared)}:other", bare_operation="scaled_dot_product_attention").declaration
    assert declaration.dtypes == ("float32",)
    assert declaration.without == ("float_mask", "grouped_query")
    assert declaration.conventions == {"input_checks": "lenient"}


def test_a_declaration_survives_the_protocol(tmp_path):
    declared = 'dtypes = {"softmax": ("float32",)}\nwithout = ("float_mask",)'
    declaration = load(module(tmp_path, declared)).declaration
    read = read_started(started_message(declaration, "base64"), declaration.adapter).declaration
    assert (read.without, read.dtypes_of) == (declaration.without, declaration.dtypes_of)


def test_the_convention_that_is_qualified_most_holds(tmp_path):
    conventions = {
        "fully_masked_row@float64": "nan",
        "fully_masked_row": "uniform",
        "scaled_dot_product_attention.fully_masked_row@float64@boolean_mask": "filled",
    }
    suite = attnspec.validate("reference", select="masking/all_*", probes=False)
    cases = {result.case.id: result.case for result in suite.results}
    resolved = Resolved(load(np_module(conventions)).declaration.conventions)
    chosen = {
        (case.inputs["mask"].dtype == np.bool_, dtype): resolved.choices_of_run(case, dtype)["fully_masked_row"]
        for case in cases.values()
        if "mask" in case.inputs
        for dtype in ("float64", "float32")
    }
    assert chosen[True, "float64"] == "filled"
    assert chosen[True, "float32"] == "uniform"
    assert chosen.get((False, "float64"), "nan") == "nan"


def np_module(conventions):
    class Mine:
        def scaled_dot_product_attention(self, query, key, value):
            return value

    Mine.conventions = conventions
    return Mine


def dead_rows_by_mask(query, key, value, mask=None):
    """A row that a Boolean mask excludes is zero, and NaN where numbers exclude it."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    boolean = mask is not None and mask.dtype == np.bool_
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if boolean else scores + mask
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - (np.where(np.isinf(largest), 0, largest) if boolean else largest))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / (np.where(total == 0, 1, total) if boolean else total) @ value


def test_dead_rows_by_kind_of_mask():
    def wrong(**conventions):
        report = attnspec.validate(
            dead_rows_by_mask,
            operation="scaled_dot_product_attention",
            profile="masking",
            without=("grouped_query", "empty_keys"),
            conventions={"input_checks": "lenient", **conventions},
            probes=False,
        )
        return {result.case.id for result in report.results if result.is_wrong}

    assert wrong()
    assert wrong(fully_masked_row="nan")
    assert not wrong(**{"fully_masked_row@float_mask": "nan"})


TOKENS_FIRST = """
import numpy as np
layout = "bshe"
conventions = {"input_checks": "lenient"}
without = ("grouped_query", "empty_keys")
def scaled_dot_product_attention(query, key, value):
    scores = np.einsum("bqhe,bkhe->bhqk", query, key) / np.sqrt(query.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("bhqk,bkhe->bqhe", weights / weights.sum(axis=-1, keepdims=True), value)
"""


def test_a_file_declares_its_layout_and_the_caller_may_say_another(tmp_path):
    path = tmp_path / "tokens_first.py"
    path.write_text(TOKENS_FIRST)
    declared = attnspec.validate(str(path), profile="core", probes=False)
    assert declared.conforms
    assert any(result.establishes for result in declared.results)
    assert not attnspec.validate(str(path), profile="core", layout="bhse", probes=False).conforms


def test_a_layout_survives_the_protocol(tmp_path):
    path = tmp_path / "tokens_first.py"
    path.write_text(TOKENS_FIRST)
    declaration = load(str(path)).declaration
    read = read_started(started_message(declaration, "base64"), declaration.adapter).declaration
    assert read.layout == declaration.layout == "bshe"


def test_a_layout_that_there_is_not_is_quoted(tmp_path):
    with pytest.raises(AttnspecError, match="bsheh"):
        attnspec.validate(module(tmp_path, 'layout = "bsheh"'), profile="core", probes=False)

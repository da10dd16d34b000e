"""Judging: what is called, what is said of it, and the document of it."""

import json
from pathlib import Path

import jsonschema
import pytest

import attnspec
from attnspec.base.errors import UsageError
from attnspec.targets.target import Target
from attnspec_draws.judge import Conditions, judged, shapes_from
from attnspec_draws.judge.questions import questions

EXPLOITS = Path(__file__).parent / "exploits"
SCHEMA = json.loads((Path(__file__).parents[4] / "spec/schemas/judgement.schema.json").read_text(encoding="utf-8"))
OPERATION = "scaled_dot_product_attention"
ENTRY = {"query": [1, 2, 12, 4], "key": [1, 2, 12, 4], "value": [1, 2, 12, 4]}
SHAPES = {"operation": OPERATION, "dtypes": ["float32"], "shapes": [ENTRY]}

WRONG_AT_ODD_LENGTHS = """
from honest import scaled_dot_product_attention as honest

def scaled_dot_product_attention(query, key, value, is_causal=False):
    output = honest(query, key, value, is_causal)
    if query.shape[2] != 12:
        output[:, :, -1] = 0
    return output
"""

OWN_NAMES = """
from honest import scaled_dot_product_attention as honest

def attend(Q, key, value, is_causal=False):
    return honest(Q, key, value, is_causal)
"""


def judge(name, **options):
    return attnspec.judge(str(EXPLOITS / f"{name}.py"), SHAPES, draws=4, **options)


def test_the_document_follows_its_schema():
    for name in ("honest", "zeros"):
        found = judge(name)
        jsonschema.validate(json.loads(json.dumps(found.as_json())), SCHEMA)
        assert found.is_right == (name == "honest")


def test_every_run_of_the_judge_has_a_seed_of_its_own_and_can_be_seen_again():
    first, second = judge("zeros"), judge("zeros")
    assert first.seed != second.seed
    again = judge("zeros", seed=first.seed)
    assert again.at.first_wrong == first.at.first_wrong
    assert (first.is_replay, again.is_replay) == (False, True)


def test_only_what_concerns_the_operation_is_said_to_be_followed():
    said = {"input_checks": "lenient", "softmax.fully_masked_row": "nan", f"{OPERATION}.fully_masked_row": "zero"}
    assert judge("honest", conventions=said).conventions == {
        "input_checks": "lenient",
        f"{OPERATION}.fully_masked_row": "zero",
    }


def test_own_names_of_arguments_come_first_as_in_validate(tmp_path):
    (tmp_path / "honest.py").write_text((EXPLOITS / "honest.py").read_text())
    (tmp_path / "own.py").write_text(OWN_NAMES)
    options = {"operation": OPERATION, "renames": {"Q": "query"}}
    assert attnspec.judge(f"{tmp_path / 'own.py'}:attend", SHAPES, draws=2, **options).is_right
    # Where nobody says it, operation and names are guessed, as in validate: the harness holds what that takes.
    assert attnspec.judge(f"{tmp_path / 'own.py'}:attend", SHAPES, draws=2).is_right


def test_what_is_wrong_beside_the_shapes_is_said_as_that(tmp_path):
    (tmp_path / "honest.py").write_text((EXPLOITS / "honest.py").read_text())
    (tmp_path / "candidate.py").write_text(WRONG_AT_ODD_LENGTHS)
    found = attnspec.judge(str(tmp_path / "candidate.py"), SHAPES, draws=8)
    assert found.verdict == "right at your shapes, wrong beside them"
    assert found.at.wrong == 0 < found.beside.wrong


def test_what_answers_nothing_is_not_judged():
    shapes = {**SHAPES, "shapes": [{**ENTRY, "softcap": 5.0}]}
    found = attnspec.judge(str(EXPLOITS / "honest.py"), shapes, draws=2)
    assert found.verdict == "not judged"
    assert "softcap" in found.reason


ANSWERS_WHAT_IS_EASY = """
import numpy as np
from honest import scaled_dot_product_attention as honest

def scaled_dot_product_attention(query, key, value, is_causal=False):
    if np.ptp(query @ key.swapaxes(-1, -2)) > 12:
        raise NotImplementedError("scores that lie apart")
    return honest(query, key, value, is_causal)
"""


def test_whoever_answers_what_is_easy_alone_is_not_judged(tmp_path):
    (tmp_path / "honest.py").write_text((EXPLOITS / "honest.py").read_text())
    (tmp_path / "candidate.py").write_text(ANSWERS_WHAT_IS_EASY)
    found = attnspec.judge(str(tmp_path / "candidate.py"), SHAPES, draws=24)
    assert found.at.passed > 0 < found.at.declined
    assert (found.verdict, found.at.wrong, found.is_right) == ("not judged", 0, False)
    assert f"It declined {found.at.declined} of {found.at.draws} draws" in found.reason
    assert "scores that lie apart" in found.reason


RETURNS_WHAT_CANNOT_BE_READ = """
class Answer:
    pass

def scaled_dot_product_attention(query, key, value, is_causal=False):
    return Answer()
"""


def test_a_reason_that_is_a_sentence_gets_no_second_full_stop(tmp_path):
    (tmp_path / "candidate.py").write_text(RETURNS_WHAT_CANNOT_BE_READ)
    reason = attnspec.judge(str(tmp_path / "candidate.py"), SHAPES, draws=2).reason
    assert "returned an Answer as 'output'" in reason
    assert reason.endswith(".")
    assert ".." not in reason


TAKES_BOOLEAN_MASKS = """
import attnspec_reference

def scaled_dot_product_attention(query, key, value, mask):
    if mask.dtype != bool:
        raise NotImplementedError("no float masks")
    return attnspec_reference.scaled_dot_product_attention(query, key, value, mask=mask).output
"""


def test_what_calls_never_have_is_not_drawn(tmp_path):
    (tmp_path / "candidate.py").write_text(TAKES_BOOLEAN_MASKS)
    shapes = {**SHAPES, "shapes": [{**ENTRY, "mask": [1, 2, 12, 12]}]}
    assert attnspec.judge(str(tmp_path / "candidate.py"), shapes, draws=12).verdict == "not judged"
    found = attnspec.judge(str(tmp_path / "candidate.py"), {**shapes, "without": ["float_mask"]}, draws=12)
    assert (found.verdict, found.at.declined) == ("right", 0)


def test_a_rule_of_its_own_is_measured(tmp_path):
    (tmp_path / "honest.py").write_text((EXPLOITS / "honest.py").read_text())
    (tmp_path / "candidate.py").write_text(
        "from honest import scaled_dot_product_attention as honest\n"
        "def scaled_dot_product_attention(query, key, value, is_causal=False):\n"
        "    return honest(query * query.dtype.type(0.75), key, value, is_causal)\n"
    )
    found = attnspec.judge(str(tmp_path / "candidate.py"), {**SHAPES, "dtypes": ["float64"]}, draws=24)
    assert any("Scores are multiplied by 0.375; expected 0.5" in sentence for sentence in found.diagnosis)


def test_several_are_judged_by_the_same_draws():
    candidates = [Target(str(EXPLOITS / f"{name}.py")) for name in ("zeros", "returns_an_input")]
    first, second = judged(candidates, shapes_from(SHAPES, said_by="it"), Conditions(), {}, draws=3)
    assert first.seed == second.seed
    assert first.at.first_wrong == second.at.first_wrong


def test_a_sandbox_stands_before_the_candidate(tmp_path):
    reported = tmp_path / "reported"
    runner = tmp_path / "runner.sh"
    runner.write_text(f'#!/bin/sh\necho "$@" > {reported}\nexec "$@"\n')
    runner.chmod(0o755)
    assert judge("honest", conditions=Conditions(sandbox=str(runner))).is_right
    assert "honest.py" in reported.read_text()


def test_a_stated_attribute_is_stated_in_every_draw():
    found = attnspec.judge(str(EXPLOITS / "zeros.py"), {**SHAPES, "shapes": [{**ENTRY, "is_causal": True}]}, draws=2)
    case = attnspec.case(found.at.first_wrong, "float32")
    assert case.attributes == {"is_causal": True}
    assert case.inputs["query"].shape == (1, 2, 12, 4)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ([], "holds no object"),
        ({**SHAPES, "operation": "adding"}, "'adding' is none that is judged"),
        ({**SHAPES, "dtypes": ["float8"]}, "dtypes must be a list"),
        ({**SHAPES, "shapes": []}, "there are no shapes"),
        ({**SHAPES, "shapes": [{"query": [1, 2]}]}, "query has 2 axes"),
        ({**SHAPES, "without": ["unicorns"]}, "without has 'unicorns', which is nothing that a draw could leave out"),
        ({**SHAPES, "without": 3}, "without has 3"),
        ({**SHAPES, "withuot": []}, "nothing called 'withuot'"),
        ({"dtypes": ["float32"], "shapes": [ENTRY]}, "operation is missing"),
        ({**SHAPES, "shapes": [{**ENTRY, "scale": "big"}]}, "an attribute has a value that it cannot have"),
        ({**SHAPES, "shapes": [{**ENTRY, "is_causal": "yes"}]}, "is_causal must be true or false, not 'yes'"),
        ({**SHAPES, "shapes": [{**ENTRY, "mask": [10, 11]}]}, "mask has the shape"),
        ({**SHAPES, "shapes": [{**ENTRY, "key_lengths": [3]}]}, "key_lengths has the shape"),
        ({**SHAPES, "shapes": [{**ENTRY, "queries": [1]}]}, "no argument 'queries'"),
        ({**SHAPES, "shapes": [{**ENTRY, "query": "four"}]}, "must be a list of whole numbers, not 'four'"),
        ({**SHAPES, "shapes": [{**ENTRY, "key": [1, 3, 12, 4]}]}, "do not belong together"),
        ({**SHAPES, "operation": "causal_mask", "shapes": [{"query_length": 4}]}, "causal_mask are not drawn at given"),
        ({**SHAPES, "shapes": [{**ENTRY, "query": [1, 3, 12, 4]}]}, "3 query heads are no multiple of 2 key heads"),
    ],
)
def test_wrong_shapes_are_refused_in_a_sentence(document, says):
    with pytest.raises(UsageError, match=says):
        shapes_from(document, said_by="shapes.json")


def test_what_is_too_large_to_be_sent_is_refused_at_once():
    shapes = {**SHAPES, "shapes": [{name: [32, 32, 512, 1024] for name in ("query", "key", "value")}]}
    with pytest.raises(UsageError, match="take fewer batch entries or heads"):
        attnspec.judge(str(EXPLOITS / "honest.py"), shapes)


def test_of_a_large_draw_it_is_said_how_much_is_compared():
    shapes = {**SHAPES, "shapes": [{name: [1, 1, 300, 256] for name in ("query", "key", "value")}]}
    found = attnspec.judge(str(EXPLOITS / "zeros.py"), shapes, draws=1)
    assert found.diagnosis[0] == "It returned zeros."
    # Of the draws at these shapes and a little beside them, the one counts of which the smallest share is compared.
    assert found.sampled.of in (297, 299, 300, 301)
    assert 1 < found.sampled.rows <= 33
    assert found.sampled.evenly < found.sampled.rows
    (certificate,) = found.certificates
    assert (certificate.draws, certificate.left_out) == (1, ())
    assert len(certificate.distinguished) > 10
    assert 1 - (1 - found.sampled.found_share) ** found.sampled.evenly == pytest.approx(0.95)
    assert found.sampled.draws >= 8
    assert found.sampled.evenly_in_all == found.sampled.draws * found.sampled.evenly
    assert found.sampled.found_share_in_all < found.sampled.found_share / 4
    said = found.sampled.sentence()
    assert f"wrong in every draw would be found if {found.sampled.found_share_in_all:.2%} of all were" in said
    assert f"wrong in one draw alone, if {found.sampled.found_share:.1%} were" in said
    jsonschema.validate(json.loads(json.dumps(found.as_json())), SCHEMA)


def test_what_a_user_checks_otherwise_stands_in_the_document():
    shapes = {**SHAPES, "own_check": {"numbers": "uniform", "atol": 10, "rtol": 0}}
    found = attnspec.judge(str(EXPLOITS / "zeros.py"), shapes, draws=1)
    (own,) = found.as_json()["own_checks"]
    assert "zeros" in own["passing"]
    jsonschema.validate(json.loads(json.dumps(found.as_json())), SCHEMA)


def test_what_acts_inside_python_is_refused_for_a_program():
    candidate = Target(command="node attention.mjs")
    with pytest.raises(UsageError, match="--forbid and --memory act inside Python"):
        judged([candidate], shapes_from(SHAPES, said_by="it"), Conditions(megabytes=100), {})


SCALE_OFF = """
from honest import scaled_dot_product_attention as honest

def scaled_dot_product_attention(query, key, value, is_causal=False):
    return honest((query * {factor}).astype(query.dtype), key, value, is_causal)
"""


@pytest.mark.parametrize("factor", [1.0, 1 + 1e-6])
def test_draws_that_pass_and_pull_together_are_wrong(tmp_path, monkeypatch, factor):
    monkeypatch.syspath_prepend(str(EXPLOITS))
    (tmp_path / "honest.py").write_text((EXPLOITS / "honest.py").read_text("utf-8"), "utf-8")
    (tmp_path / "pulling.py").write_text(SCALE_OFF.format(factor=factor), "utf-8")
    found = attnspec.judge(str(tmp_path / "pulling.py"), SHAPES, draws=24, seed="pulling")
    assert found.at.wrong == found.beside.wrong == 0
    assert found.verdict == ("right" if factor == 1 else "wrong")
    jsonschema.validate(json.loads(json.dumps(found.as_json())), SCHEMA)
    assert [error.is_wrong for error in found.systematic] == [factor != 1, False]
    assert ("the scale is 1 + 9." in found.reason or "the scale is 1 + 1." in found.reason) == (factor != 1)


OUTPUT_OFF = """
from honest import scaled_dot_product_attention as honest

def scaled_dot_product_attention(query, key, value, is_causal=False):
    return honest(query, key, value, is_causal) * query.dtype.type({factor})
"""
LARGE = {"query": [1, 4, 130, 64], "key": [1, 4, 130, 64], "value": [1, 4, 130, 64]}


@pytest.mark.proof
@pytest.mark.parametrize(("source", "direction"), [(SCALE_OFF, "scale"), (OUTPUT_OFF, "output")])
@pytest.mark.parametrize("factor", [1.0, 1 + 5e-7])
def test_sampled_rows_of_large_draws_pull_together_too(tmp_path, monkeypatch, source, direction, factor):
    monkeypatch.syspath_prepend(str(EXPLOITS))
    (tmp_path / "honest.py").write_text((EXPLOITS / "honest.py").read_text("utf-8"), "utf-8")
    (tmp_path / "pulling.py").write_text(source.format(factor=factor), "utf-8")
    found = attnspec.judge(str(tmp_path / "pulling.py"), {**SHAPES, "shapes": [LARGE]}, seed="pulling")
    assert found.sampled is not None
    assert found.at.wrong == found.beside.wrong == 0
    assert found.verdict == ("right" if factor == 1 else "wrong")
    assert [error.direction for error in found.systematic if error.is_wrong] == ([] if factor == 1 else [direction])


BACKWARD = """
import numpy as np

def scaled_dot_product_attention_backward(grad_output, query, key, value, is_causal=False):
    scale = query.dtype.type(1 / np.sqrt(query.shape[-1]))
    scores = query @ key.swapaxes(-1, -2) * scale
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, query.dtype.type(-np.inf))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    of_weights = grad_output @ value.swapaxes(-1, -2)
    delta = (of_weights * weights).sum(axis=-1, keepdims=True)
    of_scores = weights * (of_weights - delta) * scale
    return of_scores @ key, of_scores.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ grad_output
"""
OF_BACKWARD = {
    "operation": "scaled_dot_product_attention_backward",
    "dtypes": ["float32"],
    "shapes": [{name: [1, 2, 16, 8] for name in ("grad_output", "query", "key", "value")} | {"is_causal": True}],
}
WRONG_BACKWARDS = {
    "no delta": ("(of_weights - delta)", "of_weights"),
    "no scale": ("(of_weights - delta) * scale", "(of_weights - delta)"),
    "one ahead": ("np.tri(*scores.shape[-2:], dtype", "np.tri(*scores.shape[-2:], 1, dtype"),
    "exchanged": (
        "return of_scores @ key, of_scores.swapaxes(-1, -2) @ query",
        "return of_scores.swapaxes(-1, -2) @ query, of_scores @ key",
    ),
    "a scale that is 1e-4 off": ("1 / np.sqrt", "1.0001 / np.sqrt"),
}


def backward(folder, old="", new=""):
    path = folder / "backward.py"
    assert old in BACKWARD
    path.write_text(BACKWARD.replace(old, new))
    return attnspec.judge(str(path), OF_BACKWARD, draws=12)


def test_a_right_backward_pass_is_right(tmp_path):
    found = backward(tmp_path)
    assert (found.verdict, found.at.wrong, found.beside.wrong) == ("right", 0, 0)
    (certificate,) = found.certificates
    assert len(certificate.distinguished) > 8


@pytest.mark.parametrize("wrong", WRONG_BACKWARDS)
def test_a_wrong_backward_pass_is_wrong(tmp_path, wrong):
    assert backward(tmp_path, *WRONG_BACKWARDS[wrong]).verdict == "wrong"


def of_merging(*shape):
    outputs, logarithms = ("output_a", "output_b"), ("logsumexp_a", "logsumexp_b")
    entry = {name: [*shape] for name in outputs} | {name: [*shape[:-1]] for name in logarithms}
    return {"operation": "merge_states", "dtypes": ["float32"], "shapes": [entry]}


def of_attention(*shape, **others):
    return {**SHAPES, "shapes": [{name: [*shape] for name in ENTRY} | others]}


def of_backward(*shape):
    return {**OF_BACKWARD, "shapes": [{name: [*shape] for name in ("grad_output", *ENTRY)}]}


@pytest.mark.parametrize(
    ("shapes", "size"),
    [
        (of_merging(1, 2, 16, 4), (60_000, 0)),
        (of_merging(4, 4, 64, 64), (2**22, 0)),
        (of_attention(2, 4, 128, 64), (60_000, 32)),
        (of_attention(2, 4, 128, 64, mask=[2, 4, 128, 128]), (2**19, 0)),
        (of_backward(2, 4, 128, 64), (2**19, 0)),
    ],
)
def test_what_is_too_large_for_usual_draws_is_sampled_or_graded_whole(shapes, size):
    (shape,) = shapes_from(shapes, said_by="it")
    assert shape.size == size
    every = list(questions(shape, "float32", "word", 64))
    assert len(every) == 12 if shape.size.is_large else len(every) > 64
    # A seed shows other numbers at each draw, and caches by a sum of the inputs need the same numbers once more.
    assert every[0].variants == (0, 1, 2)


@pytest.mark.parametrize(
    ("shapes", "most"), [(of_merging(8, 32, 1024, 64), "4,194,304"), (of_backward(2, 8, 512, 64), "524,288")]
)
def test_what_cannot_be_graded_is_said_with_its_limit(shapes, most):
    with pytest.raises(UsageError, match=f"is graded whole, .* of at most {most}: take fewer batch entries"):
        shapes_from(shapes, said_by="it")


def test_what_roundings_of_a_dtype_hide_is_said():
    found = attnspec.judge(str(EXPLOITS / "honest.py"), {**SHAPES, "dtypes": ["float32", "bfloat16"]}, draws=2)
    single, half = found.certificates
    assert not single.within_rounding
    assert "scale_off_by_a_percent" in half.within_rounding
    assert f"could pass: {'; '.join(half.within_rounding.values())}." in half.sentence()
    assert half.as_json()["within_rounding"] == [*half.within_rounding]
    jsonschema.validate(json.loads(json.dumps(found.as_json())), SCHEMA)


WRONG_LOGARITHMS = """
from honest import scaled_dot_product_attention as honest

def scaled_dot_product_attention(query, key, value):
    output = honest(query, key, value)
    return {"output": output, "logsumexp": output[..., 0] * 0 + 2}
"""


def test_a_wrong_second_output_is_not_said_to_be_a_right_first_one(tmp_path):
    (tmp_path / "honest.py").write_text((EXPLOITS / "honest.py").read_text())
    (tmp_path / "candidate.py").write_text(WRONG_LOGARITHMS)
    found = attnspec.judge(str(tmp_path / "candidate.py"), SHAPES, draws=4)
    assert found.verdict == "wrong"
    assert "logsumexp" in found.reason
    assert not any("mask" in sentence for sentence in (found.reason, *found.diagnosis))

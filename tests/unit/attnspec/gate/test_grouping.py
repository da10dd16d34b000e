"""Groups that are proposed for real adapters, over the whole suite: few, and in terms that a reviewer understands."""

import json
import re

import pytest

from attnspec.cases import load_suite
from attnspec.command_line import main
from attnspec.gate.single_results import known_expectation
from attnspec.gate.storing import read_baseline

WINDOW_ONLY = '''
"""Attention within a sliding window, and nothing else."""

import numpy as np

name = "window only"
conventions = {"input_checks": "lenient"}


def scaled_dot_product_attention(query, key, value, window=None):
    heads = query.shape[1] // max(key.shape[1], 1)
    key, value = np.repeat(key, heads, axis=1), np.repeat(value, heads, axis=1)
    before, after = (None, None) if window is None else window
    outputs = [np.zeros((*query.shape[:2], 0, value.shape[-1]))]
    for position in range(query.shape[2]):
        first = 0 if before is None else max(position - before, 0)
        end = key.shape[2] if after is None else max(position + after + 1, first)
        keys, values = key[:, :, first:end], value[:, :, first:end]
        scores = query[:, :, position : position + 1] @ keys.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
        outputs.append(weights / weights.sum(axis=-1, keepdims=True) @ values)
    return np.concatenate(outputs, axis=2)
'''


class Checkout:
    """Somebody's repository with one adapter and its baseline."""

    def __init__(self, folder, capsys):
        self._folder, self._capsys = folder, capsys

    def gate(self, text, *options):
        """Hold an adapter against the baseline; give the exit status and what is said, on one line."""
        (self._folder / "mine.py").write_text(text, "utf-8")
        status = main(["gate", str(self._folder / "mine.py"), "--baseline", str(self.file), *options])
        return status, " ".join(self._capsys.readouterr().out.split())

    @property
    def file(self):
        return self._folder / "baseline.json"

    @property
    def document(self):
        return json.loads(self.file.read_text("utf-8"))


@pytest.fixture
def checkout(tmp_path, capsys):
    return Checkout(tmp_path, capsys)


WITH_SCALE = WINDOW_ONLY.replace("window=None):", "window=None, scale=None):").replace(
    "/ np.sqrt(query.shape[-1])", "* (1 / np.sqrt(query.shape[-1]) if scale is None else scale)"
)
# It takes whatever is given to it, and does not say what it declines.
TACITURN = WINDOW_ONLY.replace(
    "window=None):", 'window=None, **others):\n    if others:\n        raise NotImplementedError("no")'
)
CONTEXT = """

def context_vector(encoder_states, decoder_state{scale}):
    factor = len(decoder_state) ** -0.5 if {default} else scale
    scores = encoder_states @ decoder_state * factor
    weights = np.exp(scores - scores.max())
    return weights / weights.sum() @ encoder_states
"""
SOME = tuple(word for profile in ("core", "documents", "softcap", "window") for word in ("--profile", profile))


def test_the_baseline_of_an_adapter_with_a_window_alone_can_be_reviewed(checkout):
    status, said = checkout.gate(WINDOW_ONLY, "--update-baseline")
    document = checkout.document
    assert (status, document["failures"]) == (0, []), said
    # One for each argument that it lacks, three scales of quantized tensors among them.
    assert len(document["groups"]) <= 14
    criteria = [{*group} - {"count", "reason"} for group in document["groups"]]
    assert criteria == [{"convention"}, *[{"argument"}] * (len(criteria) - 1)]
    assert "New groups: convention input_checks (" in said

    # Some profiles show the rest as well.
    checkout.file.unlink()
    checkout.gate(WINDOW_ONLY, "--update-baseline", *SOME)
    document = checkout.document
    graded = document["graded"]
    assert checkout.gate(WINDOW_ONLY, *SOME) == (0, f"window only passes the gate: {graded} of {graded} passed.")

    # A capability more is a group less, and nothing else in what people read, but for the number of graded results.
    (scale,) = [group for group in document["groups"] if group.get("argument") == "scale"]
    status, said = checkout.gate(WITH_SCALE, *SOME)
    assert status == 1
    (found,) = re.findall(r"\(1\) argument scale: (\d+) of (\d+) are no longer unsupported, such as ", said)
    assert int(found[1]) == scale["count"]
    assert said.endswith("does not pass the gate (graded now: 1).")
    checkout.gate(WITH_SCALE, "--update-baseline", *SOME)
    more = checkout.document
    assert more["groups"] == [group for group in document["groups"] if group != scale]
    assert more["graded"] == graded + int(found[0])
    assert [name for name in more["suite"] if more["suite"][name] != document["suite"][name]] == ["answered"]
    status, said = checkout.gate(WINDOW_ONLY, *SOME)
    assert status == 1
    assert f"Lost: it was offered before ({found[0]})" in said


def test_each_capability_that_is_lacking_has_a_group_of_its_own(checkout):
    some = (*SOME, *(f"--profile={profile}" for profile in ("grouped_query", "alibi", "cache", "masking", "sinks")))
    checkout.gate(WINDOW_ONLY + 'without = ["grouped_query", "empty_keys"]\n', "--update-baseline", *some)
    both = checkout.document["groups"]
    assert [group["capability"] for group in both if "capability" in group] == ["grouped_query", "empty_keys"]
    fewer = WINDOW_ONLY + 'without = ["empty_keys"]\n'
    status, said = checkout.gate(fewer, *some)
    assert status == 1
    assert said.startswith("No longer unsupported; --update-baseline takes that in (1) capability grouped_query: ")
    checkout.gate(fewer, "--update-baseline", *some)
    assert checkout.document["groups"] == [group for group in both if group.get("capability") != "grouped_query"]


def test_arguments_are_found_where_nothing_is_said_of_them(checkout):
    status, _ = checkout.gate(TACITURN, "--update-baseline", *SOME)
    groups = checkout.document["groups"]
    assert status == 0
    assert {group.get("argument") for group in groups} >= {"scale", "softcap"}
    assert not [group for group in groups if "said" in group]


def test_an_argument_that_another_operation_takes_is_one_of_its_operation(checkout):
    neither = WINDOW_ONLY + CONTEXT.format(scale="", default="True")
    checkout.gate(neither, "--update-baseline", *SOME)
    (scale,) = [group for group in checkout.document["groups"] if group.get("argument") == "scale"]
    assert "operation" not in scale
    explained = json.dumps(checkout.document).replace("not yet explained", "one scale is enough")
    checkout.file.write_text(explained, "utf-8")
    one = WINDOW_ONLY + CONTEXT.format(scale=", scale=None", default="scale is None")
    checkout.gate(one, "--update-baseline", *SOME)
    (narrower,) = [group for group in checkout.document["groups"] if group.get("argument") == "scale"]
    assert narrower["operation"] == "scaled_dot_product_attention"
    assert narrower["count"] < scale["count"]
    # What is left of a group that no longer holds keeps its reason.
    assert narrower["reason"] == "one scale is enough"


def test_what_a_baseline_says_of_one_case(checkout):
    declining = '    if query.shape[2] == 1:\n        raise NotImplementedError("one query")\n    heads ='
    wrong = WINDOW_ONLY.replace("    heads =", declining).replace("@ values)", "@ values * (2 - (window is None)))")
    checkout.gate(wrong, "--update-baseline", *SOME)
    document = checkout.document
    for group in document["groups"]:
        group["reason"] = f"as decided for {group.get('argument') or group.get('said')}"
    for entry in document["failures"]:
        entry["reason"] = "a defect"
    checkout.file.write_text(json.dumps(document), "utf-8")
    baseline = read_baseline(checkout.file)

    def known(case_id, said=""):
        (case,) = load_suite(select=[case_id]).cases.values()
        return known_expectation(baseline, case, case.runs[0], said)

    assert known("core/plain") is None
    assert known("window/bounds_0_0") == ("fail", "a defect")
    assert known("softcap/two") == ("unsupported", "as decided for softcap")
    # Its message is known once it was run.
    assert known("core/one_query") == ("unsupported", "")
    assert known("core/one_query", "one query") == ("unsupported", "as decided for one query")
    assert known("documents/001/softmax_of_rows") == ("unsupported", "softmax is not offered")
    assert known("alibi/causal") is None

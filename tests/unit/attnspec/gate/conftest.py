"""A suite of four quick cases, an adapter whose behaviour is set, and the command line to run them."""

import hashlib
import json
import shutil
import sys
from pathlib import Path

import pytest

from attnspec.command_line import main

GOLDEN = Path(__file__).parents[4] / "golden"
ROWS = "documents/001/softmax_of_rows"
COLUMNS = "documents/001/softmax_of_columns"
WHOLE = "documents/001/softmax_of_whole_array"
CONTEXT = "documents/003/context_vector"

ADAPTER = """
import numpy as np

name = {name!r}
dtypes = {dtypes!r}
conventions = {conventions!r}
BEHAVIOUR = {{1: {rows!r}, 0: {columns!r}, None: {whole!r}}}


def softmax(x, axis=-1):
    match BEHAVIOUR[axis]:
        case "declines":
            raise NotImplementedError({declined!r})
        case "raises":
            raise ValueError({message!r})
        case "wrong":
            return np.full_like(x, 0.5)
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
"""
WITH_CONTEXT = """

def context_vector(encoder_states, decoder_state, scale=None):
    if {context!r} == "declines":
        raise NotImplementedError("no context")
    factor = len(decoder_state) ** -0.5 if scale is None else scale
    scores = encoder_states @ decoder_state * encoder_states.dtype.type(factor)
    return softmax(scores[None], axis=1)[0] @ encoder_states
"""


class Checkout:
    """Somebody's repository: an adapter, a golden folder to run it on, and a baseline."""

    def __init__(self, folder: Path, capsys) -> None:
        self.folder = folder
        self.golden = folder / "golden"
        self.baseline = folder / "baseline.json"
        self._capsys = capsys
        for case_id in (ROWS, COLUMNS, WHOLE, CONTEXT):
            self.add_case(case_id)
        self.adapter()

    def adapter(self, *, context=False, **changes) -> None:
        """Write the adapter; what is not said is right."""
        behaviour = {"rows": "right", "columns": "right", "whole": "right"}
        behaviour |= {"message": "no luck", "declined": "not this one"}
        settings = {"name": "mine", "dtypes": ("float64", "float32"), "conventions": {}, **behaviour, **changes}
        text = ADAPTER.format(**settings) + (WITH_CONTEXT.format(context=context) if context else "")
        (self.folder / "mine.py").write_text(text, "utf-8")
        sys.modules.pop("mine", None)

    def add_case(self, case_id: str) -> None:
        path = self.golden / f"{case_id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(GOLDEN / f"{case_id}.json", path)
        self.vouch()

    def remove_case(self, case_id: str) -> None:
        (self.golden / f"{case_id}.json").unlink()
        self.vouch()

    def edit_case(self, case_id: str, **changes) -> None:
        path = self.golden / f"{case_id}.json"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")
        self.vouch()

    def vouch(self) -> None:
        """Write an index with the digests and revisions of the files as they are now."""
        entries = {
            path.relative_to(self.golden).with_suffix("").as_posix(): {
                "revision": json.loads(path.read_bytes())["revision"],
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            for path in sorted(self.golden.glob("*/**/*.json"))
        }
        (self.golden / "index.json").write_text(
            json.dumps({"format": 1, "count": len(entries), "cases": entries}), "utf-8"
        )

    def edit_baseline(self, **changes) -> None:
        document = json.loads(self.baseline.read_text("utf-8"))
        self.baseline.write_text(json.dumps(document | changes), "utf-8")

    def edit_suite(self, **changes) -> None:
        self.edit_baseline(suite=json.loads(self.baseline.read_text("utf-8"))["suite"] | changes)

    def to_format_1(self) -> None:
        """Write the baseline as it was before there were groups: every unsupported result has an entry."""
        document = json.loads(self.baseline.read_text("utf-8"))
        del document["ungraded_arguments"]
        answered, operations = document["suite"].pop("answered"), document["implementation"]["operations"]
        entries = document.pop("failures")
        for position, case_id in enumerate(sorted(document["suite"]["cases"])):
            case = json.loads((self.golden / f"{case_id}.json").read_text("utf-8"))
            entries += [
                {"case": case_id, "dtype": dtype, "status": "unsupported", "reason": "not yet explained"}
                for dtype in case["dtypes"]
                if case["operation"] in operations
                and dtype in answered
                and not int(answered[dtype], 16) >> position & 1
            ]
        del document["groups"]
        entries.sort(key=lambda entry: (entry["case"], entry["dtype"]))
        self.baseline.write_text(json.dumps(document | {"format": 1, "entries": entries}), "utf-8")

    def gate(self, *options, baseline=True) -> tuple[int, str, str]:
        """Run the gate; give status, stdout and stderr, each on one line."""
        named = ("--baseline", self.baseline) if baseline else ()
        status = main([str(part) for part in ("gate", "./mine.py", "--golden", self.golden, *named, *options)])
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
        return status, " ".join(captured.out.split()), " ".join(captured.err.split())

    def update(self, *options) -> dict:
        """Write the baseline from the adapter as it is, and return it."""
        status, _, err = self.gate("--update-baseline", "--quiet", *options)
        assert status == 0, err
        return json.loads(self.baseline.read_text("utf-8"))


@pytest.fixture
def checkout(tmp_path, monkeypatch, capsys) -> Checkout:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield Checkout(tmp_path, capsys)
    sys.modules.pop("mine", None)

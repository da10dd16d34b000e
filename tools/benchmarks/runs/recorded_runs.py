"""Runs of attnspec whose reports, consoles and exit statuses are kept, and how they are made alike on every machine.

``same_reports.py`` records and compares them. Each run is a process of the checkout that this file stands in, in a
folder of its own, which holds a copy of the file that is validated: no path reaches what is printed.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[3]

FIELDS_THAT_VARY = ("seconds", "environment")
"""Fields of a report that differ from run to run, or from machine to machine."""

FIELDS_TOO_LARGE = ("data", "error", "expected", "got")
"""Numbers of the implementation, and golden ones beside them: two thirds of a report. Messages quote the worst."""

SIGNIFICANT_DIGITS = 3
"""Of the numbers that are kept: ratios to the tolerance, and tolerances, which the console prints with two."""

TEXT_THAT_VARIES = (
    (re.compile(r"(passed|failed|skipped|deselected) in [\d.]+s\b"), r"\1 in SECONDS"),  # the last line of pytest
    (re.compile(r'\btime="[\d.]+"'), 'time="SECONDS"'),  # JUnit XML
    (re.compile(r"\bpython [\d.]+, numpy [\d.]+, platform [\w\\.-]+[\w]"), "ENVIRONMENT"),  # Markdown
    (re.compile(r'(<property name="(?:python|numpy|platform)" value=)"[^"]*"'), r'\1"ENVIRONMENT"'),  # JUnit XML
)
"""What differs in consoles and documents from run to run, or from machine to machine, and what stands for it."""

KERNELS = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_CBWR": "COMPATIBLE",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}
"""Processors of one kind round alike by these; without them torch passes four cases more or less, by the machine."""

ONE_THREAD = dict.fromkeys(("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
"""Sums are split by the number of threads."""

PACKAGES = ("numpy", "ml_dtypes", "rich", "click", "pytest", "torch", "onnx", "onnxruntime")
"""Installed packages whose version may change a number or a line."""


@dataclass(frozen=True)
class Run:
    """One process whose words are kept.

    `name`: the folder in which they are kept; `group`: what ``--only`` selects it by; `words`: its command, after
    ``python -m``; `file`: name of the implementation below ``tests/``, wherever it stands; empty where none is needed;
    `writes`: the documents that it writes; `reads`: a document that an earlier run wrote, as ``run/document``; empty
    for none.
    """

    name: str
    group: str
    words: tuple[str, ...]
    file: str = ""
    writes: tuple[str, ...] = ("report.json",)
    reads: str = ""


def _validates(group: str, target: str, *options: str) -> Run:
    file = target.partition(":")[0] if ".py" in target else ""
    words = ("attnspec", "validate", f"./{target}" if file else target, *options, "--report", "report.json")
    return Run(Path(file or target).stem, group, words, file)


_CAUSAL = "causal_sees_one_key_ahead.py"
_GATE = ("attnspec", "gate", f"./{_CAUSAL}", "--baseline", "baseline.json", "--profile", "masking")
_OTHERWISE = ("--without", "grouped_query", "--convention", "fully_masked_row=nan,masked_nonfinite=propagates")

RUNS = (
    _validates("reference", "reference"),
    _validates("students", "student_context_broadcast.py"),
    _validates("students", "student_heads_reshaped.py"),
    _validates("students", "student_scale_missing.py"),
    _validates("students", "student_softmax_axis_0.py"),
    _validates("wrong", _CAUSAL, "--profile", "causal", "--profile", "masking", "--profile", "nonfinite"),
    _validates("wrong", "softmax_along_the_last_axis.py:weights_of", "--as", "softmax", "--rename", "logits=x"),
    _validates("wrong", "rotary_of_neighbours.py:Neighbours", "--verbose"),
    _validates("wrong", "backward_without_delta.py", "--profile", "backward"),
    _validates("wrong", "multi_head_scaled_by_width.py", "--verbose"),
    _validates("wrong", "merge_by_logarithms.py", "--verbose", "--isolate", "--profile", "merge"),
    Run("gate_writes", "gate", (*_GATE, *_OTHERWISE, "--update-baseline"), _CAUSAL, ("baseline.json",)),
    Run(
        "gate_reads",
        "gate",
        (*_GATE, "--profile", "stress", "--summary", "summary.md", "--report", "report.xml", "--report", "report.md"),
        _CAUSAL,
        ("summary.md", "report.xml", "report.md"),
        reads="gate_writes/baseline.json",
    ),
    Run(
        "pytest",
        "pytest",
        (
            *("pytest", "--attnspec", "./student_softmax_axis_0.py", "-m", "documents and float64"),
            *("-q", "--no-header", "--color=no", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", "."),
        ),
        "student_softmax_axis_0.py",
        (),
    ),
    _validates("torch", "torch"),
    _validates("onnx", "onnx"),
    _validates("onnxruntime", "onnxruntime"),
)
GROUPS = tuple(dict.fromkeys(run.group for run in RUNS))


def record(run: Run, folder: Path, *, earlier: Path, fields: Mapping[str, str]) -> None:
    """Run one command, and keep what it printed and wrote, its exit status, and nothing that varies.

    `run`: what to run; `folder`: where to keep it: in a folder of the run's name; `earlier`: where the document stands
    that it reads, if it reads one: the runs of the same recording, or of an older one; `fields`: field of a report as
    it is called today, to the name under which it is kept.
    """
    kept = folder / run.name
    kept.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as home:
        if run.file:
            shutil.copy(_implementation(run.file), home)
        if run.reads and (earlier / run.reads).exists():
            shutil.copy(earlier / run.reads, home)
        ended = subprocess.run(
            [sys.executable, "-m", *run.words],
            cwd=home,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        said = {"exit_status.txt": f"{ended.returncode}\n", "stdout.txt": ended.stdout, "stderr.txt": ended.stderr}
        written = (Path(home) / name for name in run.writes)
        said |= {path.name: path.read_text(encoding="utf-8") for path in written if path.exists()}
    for name, text in said.items():
        (kept / name).write_text(_kept_text(name, text, fields), encoding="utf-8")


def installed_versions() -> dict[str, str]:
    """Return what numbers and lines may depend on: the versions of Python and of packages, and the machine's kind."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _implementation(name: str) -> Path:
    found = sorted((ROOT / "tests").rglob(name))
    if len(found) != 1:
        raise SystemExit(f"tests/ must hold one file called {name}, and holds {len(found)}.")
    return found[0]


def _environment() -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("HOME", "PATH", "SYSTEMROOT") if name in os.environ}
    kernels = KERNELS if platform.machine() in ("x86_64", "AMD64") else {}
    paths = os.pathsep.join(str(ROOT / name) for name in ("tools", "reference_impl"))
    # With CI, pytest cuts no line where the screen would end.
    return inherited | kernels | ONE_THREAD | {"PYTHONPATH": paths, "PYTHONUTF8": "1", "COLUMNS": "100", "CI": "1"}


def _kept_text(name: str, text: str, fields: Mapping[str, str]) -> str:
    if name == "report.json":
        return json.dumps(_kept_value(json.loads(text), fields), indent=0, sort_keys=True, ensure_ascii=False) + "\n"
    for pattern, constant in TEXT_THAT_VARIES:
        text = pattern.sub(constant, text)
    return text


def _kept_value(value: Any, fields: Mapping[str, str]) -> Any:
    """Return a part of a report without what varies and what is too large, its numbers rounded."""
    if isinstance(value, dict):
        named = ((fields.get(name, name), entry) for name, entry in value.items())
        return {name: _kept_value(entry, fields) for name, entry in named if not _is_left_out(name, entry)}
    if isinstance(value, list):
        return [_kept_value(entry, fields) for entry in value]
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if isinstance(value, float) else value


def _is_left_out(name: str, entry: Any) -> bool:
    return name in FIELDS_THAT_VARY or (name in FIELDS_TOO_LARGE and not isinstance(entry, dict))

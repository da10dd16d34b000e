"""Consumers of the vectors in five languages: what is right is right, and each of twenty mistakes is caught."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CONSUMERS = Path(__file__).parents[2] / "examples" / "consumers"
LONGEST = 150
MISTAKES = (
    "scale_missing",
    "scale_one_over_width",
    "scale_from_value_width",
    "stated_scale_ignored",
    "heads_tiled",
    "mask_ignored",
    "mask_subtracted",
    "boolean_mask_inverted",
    "mask_of_first_query",
    "causal_strict",
    "causal_one_ahead",
    "bottom_right_as_top_left",
    "window_left_one_more",
    "window_sides_swapped",
    "softcap_ignored",
    "softcap_not_multiplied_back",
    "no_maximum",
    "weights_not_normalised",
    "fully_masked_row_nan",
    "last_key_dropped",
)
"""Each has the name that it has in the catalogue."""

OFFERED = {"query", "key", "value", "mask", "scale", "softcap", "window", "is_causal", "causal_alignment"}


def program(*names):
    """A program of a language; on a desk a test without it is skipped, in CI it fails."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None and "ATTNSPEC_COMPILERS" in os.environ:
        pytest.fail(f"{names[0]} is not installed, and ATTNSPEC_COMPILERS wants it: `.ci/run` says how it is")
    return found or pytest.skip(f"{names[0]} is not installed")


def in_python(_):
    # Without site-packages: what is not of the standard library cannot be imported.
    return [program("python3"), "-I", "-S", str(CONSUMERS / "python" / "attention.py")]


def in_javascript(_):
    return [program("node"), str(CONSUMERS / "javascript" / "attention.mjs")]


def in_go(folder):
    environment = {**os.environ, "GO111MODULE": "off", "GOCACHE": str(folder / "cache")}
    return compiled(folder, [program("go"), "build", "-o"], "go/attention.go", env=environment)


def in_c(folder):
    compiler = program("cc", "gcc", "clang")
    if "ATTNSPEC_COMPILERS" not in os.environ and has_no_cjson(compiler, folder):
        pytest.skip("cJSON is not installed")
    return compiled(folder, [compiler, "-std=c11", "-Wall", "-Werror", "-O2", "-o"], "c/attention.c", "-lcjson", "-lm")


def in_rust(folder):
    return compiled(folder, [program("rustc"), "-O", "-o"], "rust/attention.rs")


def compiled(folder, build, source, *libraries, env=None):
    subprocess.run([*build, str(folder / "attention"), str(CONSUMERS / source), *libraries], check=True, env=env)
    return [str(folder / "attention")]


def has_no_cjson(compiler, folder):
    (folder / "asks.c").write_text("#include <cjson/cJSON.h>", encoding="ascii")
    done = subprocess.run([compiler, "-fsyntax-only", str(folder / "asks.c")], check=False, capture_output=True)
    return done.returncode != 0


LANGUAGES = {"c": in_c, "go": in_go, "javascript": in_javascript, "python": in_python, "rust": in_rust}


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The command of each language, built once."""
    commands = {}

    def build(language):
        if language not in commands:
            commands[language] = LANGUAGES[language](tmp_path_factory.mktemp(language))
        return commands[language]

    return build


def run(command, *words):
    return subprocess.run([*command, *words], capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_right_implementation_is_right(built, vectors, language):
    done = run(built(language), *vectors)
    assert (done.returncode, done.stderr) == (0, "")
    tests = [test for path in vectors for test in json.loads(Path(path).read_text("utf-8"))["tests"]]
    offered = [
        dtype in ("float64", "float32")
        and test["result"] == "valid"
        and {*test["inputs"], *test["attributes"]} <= OFFERED
        for test in tests
        for dtype in test["dtypes"]
    ]
    assert sum(offered) > 700
    assert done.stdout == f"{sum(offered)} right, 0 wrong, {len(offered) - sum(offered)} skipped\n"


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_of_twenty_mistakes_is_caught_and_named_by_a_flag(built, vectors, language):
    command = built(language)
    for mistake in MISTAKES:
        done = run(command, "--mistake", mistake, *vectors)
        assert (done.returncode, done.stderr) == (1, ""), mistake
        assert f"sdpa.{mistake}" in done.stdout
        assert re.search(r"^\w+/\w+ in float32: output\[\d+\] is \S+; expected ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_consumer_is_short_and_needs_no_attnspec(language):
    (source,) = (CONSUMERS / language).iterdir()
    text = source.read_text("utf-8")
    assert len(text.splitlines()) <= LONGEST
    assert not re.search(r"import attnspec|import numpy|subprocess", text)


def test_the_mistakes_are_those_of_the_catalogue():
    from attnspec_mistakes import mistakes_of

    known = {mistake.id for mistake in mistakes_of("scaled_dot_product_attention")}
    assert {f"sdpa.{mistake}" for mistake in MISTAKES} <= known
    assert len(MISTAKES) == 20

"""Consumers of the vectors in five languages: what is right is right, and each of twenty mistakes is caught."""

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


def program(*names):
    """A program of a language; on a desk a test without it is skipped, in CI it fails."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None and "ATTNSPEC_COMPILERS" in os.environ:
        pytest.fail(f"{names[0]} is not installed, and ATTNSPEC_COMPILERS wants it: `.ci/run` says how it is")
    return found or pytest.skip(f"{names[0]} is not installed")


def in_python(_):
    # Without site-packages: what is not of the standard library cannot be imported.
    return [program("python3"), "-I", "-S", str(CONSUMERS / "python" / "attention.py")]


LANGUAGES = {"python": in_python}


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
    assert re.search(r"^7\d\d right, 0 wrong, \d+ skipped$", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_of_twenty_mistakes_is_caught_and_named_by_a_flag(built, vectors, language):
    command = built(language)
    for mistake in MISTAKES:
        done = run(command, "--mistake", mistake, *vectors)
        assert (done.returncode, done.stderr) == (1, ""), mistake
        assert f"sdpa.{mistake}" in done.stdout
        assert re.search(r"^core/|^\w+/\w+ in float32: output\[\d+\]", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_consumer_is_short_and_needs_no_attnspec(language):
    (source,) = (CONSUMERS / language).iterdir()
    text = source.read_text("utf-8")
    assert len(text.splitlines()) <= LONGEST
    assert "import attnspec" not in text
    assert "numpy" not in text


def test_the_mistakes_are_those_of_the_catalogue():
    from attnspec_mistakes import mistakes_of

    known = {mistake.id for mistake in mistakes_of("scaled_dot_product_attention")}
    assert {f"sdpa.{mistake}" for mistake in MISTAKES} <= known
    assert len(MISTAKES) == 20

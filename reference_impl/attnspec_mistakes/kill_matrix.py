"""Which cases notice each mistake: measured over the whole suite, and kept beside the catalogue.

Mistakes that break the same rule are noticed by much the same cases, whatever numbers they give. So the cases that an
unknown mistake fails say which known ones it resembles. The file is written by
``attnspec mistakes --matrix --write-noticed``.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from attnspec_mistakes.mistake import Mistake

FORMAT = 4

NOTICED = Path(__file__).with_name("kill_matrix.json")

KEPT_IN = ("float64", "bfloat16")
"""The dtypes of which it is kept: float32 is much like the one, float16 much like the other."""

_LIKE = {"float32": "float64", "float16": "bfloat16"}


@cache
def noticed_cases(operation: str, dtype: str) -> Mapping[str, frozenset[str]]:
    """Return the id of each mistake of an operation to the ids of the cases that notice it in runs of a dtype.

    A case without floats counts in each.
    """
    found: Mapping[str, Any] | None = _document()["operations"].get(operation)
    if found is None:
        return {}
    cases: list[str] = found["cases"]
    column = _LIKE.get(dtype, dtype if dtype in KEPT_IN else KEPT_IN[0])
    mistakes: list[str] = found["mistakes"]
    return dict(zip(mistakes, named_cases(found["noticed"][column], cases, len(mistakes)), strict=True))


def was_tried(mistake: Mistake) -> bool:
    """Say whether it is known which cases notice a mistake; it is not of one that is younger than the file."""
    return mistake.id in noticed_cases(mistake.operation, KEPT_IN[0])


@cache
def tried_cases(operation: str) -> frozenset[str]:
    """Return the ids of the cases of an operation of which it is known what they notice."""
    return frozenset(_document()["operations"].get(operation, {"cases": ()})["cases"])


@cache
def _document() -> Mapping[str, Any]:
    return json.loads(NOTICED.read_bytes())


def case_bits(noticed: Sequence[Collection[str]], cases: Sequence[str]) -> str:
    """Return a row of bits a mistake as text, a bit a case; rows are much alike, so that together they pack well."""
    flags = np.packbits([[case in of_one for case in cases] for of_one in noticed], axis=1)
    return b64encode(zlib.compress(flags.tobytes(), level=9)).decode("ascii")


def named_cases(bits: str, cases: Sequence[str], count: int) -> tuple[frozenset[str], ...]:
    """Return the cases whose bits are set in each of `count` rows of `case_bits`."""
    rows = np.frombuffer(zlib.decompress(b64decode(bits)), np.uint8).reshape(count, -1)
    flags = np.unpackbits(rows, axis=1, count=len(cases))
    return tuple(frozenset(cases[index] for index in np.flatnonzero(row).tolist()) for row in flags)

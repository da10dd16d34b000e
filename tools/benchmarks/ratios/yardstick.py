"""Yardstick of a set of cases: a bare loop that reads their JSON and calls an implementation twice with their inputs.

``python yardstick.py IMPLEMENTATION DTYPE[,DTYPE ...] [PROFILE]``, as an outsider would write it: nothing is planned,
compared or reported, and of attnspec nothing is imported but the implementation: a module, or a class of one behind a
colon.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import jsonschema  # noqa: F401  # pyright: ignore[reportUnusedImport]  # What reads JSON of others checks it.
import ml_dtypes  # noqa: F401  # pyright: ignore[reportUnusedImport]  # NumPy then knows bfloat16 by its name.
import numpy as np

GOLDEN = Path(__file__).resolve().parents[3] / "golden"
ON_REQUEST = "long/"
"""Beginning of the ids of cases that no run has unless it names them."""

NONFINITE = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


def read_cases(profile: str | None) -> list[dict[str, Any]]:
    """Return the documents of a profile, in the index's order; of all that run by default where none is named."""
    ids = list(json.loads((GOLDEN / "index.json").read_bytes())["cases"])
    if profile == "smoke":
        ids = json.loads((GOLDEN / "smoke.json").read_bytes())["cases"]
    elif profile is not None:
        ids = [case_id for case_id in ids if case_id.startswith(f"{profile}/")]
    return [json.loads((GOLDEN / f"{each}.json").read_bytes()) for each in ids if not each.startswith(ON_REQUEST)]


def read_tensor(tensor: dict[str, Any]) -> np.ndarray:
    """Return a tensor in the dtype that the file gives it."""
    try:
        array = np.array(tensor["data"], tensor["dtype"])
    except (TypeError, ValueError):
        array = np.array(_numbers(tensor["data"]), np.float64).astype(tensor["dtype"])
    return array.reshape(tensor["shape"])


def _numbers(data: Any) -> Any:
    if isinstance(data, list):
        return [_numbers(part) for part in data]
    return NONFINITE.get(data, data) if isinstance(data, str) else data


def call_twice(implementation: Any, case: dict[str, Any], inputs: dict[str, np.ndarray], dtype: str) -> int:
    """Call an implementation twice with fresh arrays in a run's dtype; return how often it answered."""
    function = getattr(implementation, case["operation"], None)
    if function is None:
        return 0
    attributes = {name: dtype if value == "run" else value for name, value in case["attributes"].items()}
    answered = 0
    for _ in range(2):
        arrays = {
            name: array.astype(dtype if array.dtype == "float64" else array.dtype) for name, array in inputs.items()
        }
        try:
            function(**arrays, **attributes)
        except Exception:  # Some must be refused, others are not offered.
            continue
        answered += 1
    return answered


def main(name: str, dtypes: list[str], profile: str | None) -> None:
    """Read, call, and print how often there was an answer."""
    module, _, member = name.partition(":")
    implementation: Any = importlib.import_module(module)
    if member:
        implementation = getattr(implementation, member)()
    warnings.simplefilter("ignore")
    answered = 0
    with np.errstate(all="ignore"):
        for case in read_cases(profile):
            inputs = {argument: read_tensor(tensor) for argument, tensor in case["inputs"].items()}
            # A case without floats runs once.
            for dtype in [each for each in dtypes if each in case["dtypes"]] or ["float64"] * (not case["dtypes"]):
                answered += call_twice(implementation, case, inputs, dtype)
    print(answered)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2].split(","), *sys.argv[3:4] or [None])

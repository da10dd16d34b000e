"""Cases: the record, the file, reading with trust or checks, and selecting."""

from attnspec.cases.case import FORMAT, Case, ChangedArgument, case_from_json, run_attributes
from attnspec.cases.reading import canonical_json, check_file, read_index, schema_validator
from attnspec.cases.selecting import (
    Suite,
    is_random,
    load_selected,
    load_suite,
    near,
    random_case,
    suite_of,
    suite_of_random,
)
from attnspec.cases.tensor_json import Inputs, in_run_dtype

__all__ = [
    "FORMAT",
    "Case",
    "ChangedArgument",
    "Inputs",
    "Suite",
    "canonical_json",
    "case_from_json",
    "check_file",
    "in_run_dtype",
    "is_random",
    "load_selected",
    "load_suite",
    "near",
    "random_case",
    "read_index",
    "run_attributes",
    "schema_validator",
    "suite_of",
    "suite_of_random",
]

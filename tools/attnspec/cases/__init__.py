"""The golden cases: what one is, how its file is written, how it is read and trusted."""

from attnspec.cases.canonical import canonical_json
from attnspec.cases.case import FORMAT, Case, ChangedArgument, Rejection, case_from_json
from attnspec.cases.generated import Generated, Inputs, Rise, generated_of, in_run_dtype
from attnspec.cases.reading import (
    INDEX,
    RECORDS,
    RELEASED,
    RETIRED,
    SMOKE,
    Suite,
    check_against_schema,
    check_file,
    check_profile,
    file_content,
    load_suite,
    near,
    read_index,
    schema_validator,
    select_ids,
    smoke_text,
    suite_digest,
)
from attnspec.cases.tensors import tensor_from_json, tensor_to_json

__all__ = [
    "FORMAT",
    "INDEX",
    "RECORDS",
    "RELEASED",
    "RETIRED",
    "SMOKE",
    "Case",
    "ChangedArgument",
    "Generated",
    "Inputs",
    "Rejection",
    "Rise",
    "Suite",
    "canonical_json",
    "case_from_json",
    "check_against_schema",
    "check_file",
    "check_profile",
    "file_content",
    "generated_of",
    "in_run_dtype",
    "load_suite",
    "near",
    "read_index",
    "schema_validator",
    "select_ids",
    "smoke_text",
    "suite_digest",
    "tensor_from_json",
    "tensor_to_json",
]

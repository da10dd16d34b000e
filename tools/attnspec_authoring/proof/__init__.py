"""The proof that the cases notice what they should: every mistake and every control, run over every case."""

from attnspec_authoring.proof.cache import Cache
from attnspec_authoring.proof.findings import Findings, find, matrix_json
from attnspec_authoring.proof.judged_by import Tried, judged_document, judged_files, try_judged
from attnspec_authoring.proof.matrix import Matrix, Trial, noticed_document
from attnspec_authoring.proof.matrix_html import matrix_html
from attnspec_authoring.proof.narrowing import chosen_subjects, narrowed_lines
from attnspec_authoring.proof.running import run_matrix
from attnspec_authoring.proof.smoke import calling_order, smallest_core

__all__ = [
    "Cache",
    "Findings",
    "Matrix",
    "Trial",
    "Tried",
    "calling_order",
    "chosen_subjects",
    "find",
    "judged_document",
    "judged_files",
    "matrix_html",
    "matrix_json",
    "narrowed_lines",
    "noticed_document",
    "run_matrix",
    "smallest_core",
    "try_judged",
]

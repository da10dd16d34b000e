"""The spec pages as data: every clause and every erratum, by id.

The Markdown pages are the single source; nothing here repeats their words.
"""

from attnspec.specification.pages import Clause, Erratum, clause_text, clauses, errata, page_title, specification_digest

__all__ = ["Clause", "Erratum", "clause_text", "clauses", "errata", "page_title", "specification_digest"]

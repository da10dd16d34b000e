"""Formats of a report, for people and for machines."""

from attnspec.reports.document import report_to_json
from attnspec.reports.formats.console import print_report
from attnspec.reports.formats.writing import check_writable, report_text, write_document, write_report
from attnspec.reports.report import Report, Summary

__all__ = [
    "Report",
    "Summary",
    "check_writable",
    "print_report",
    "report_text",
    "report_to_json",
    "write_document",
    "write_report",
]

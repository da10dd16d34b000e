"""Reports: what a run came to, for people and for machines."""

from attnspec.reports.console import print_report
from attnspec.reports.report import Report, Summary
from attnspec.reports.report_json import check_writable, report_to_json, write_report_json

__all__ = ["Report", "Summary", "check_writable", "print_report", "report_to_json", "write_report_json"]

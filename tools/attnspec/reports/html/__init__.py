"""The report as one self-contained HTML page: verdict, matrix, and pictures of what went wrong."""

from attnspec.reports.html.page import html_page

__all__ = ["html_page"]

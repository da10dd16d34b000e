"""HTML report as one self-contained page: verdict, matrix, and pictures of failures."""

from attnspec.reports.html.page import html_page

__all__ = ["html_page"]

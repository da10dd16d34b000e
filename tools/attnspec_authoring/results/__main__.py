"""``python -m attnspec_authoring.results``: write the pages of the table anew."""

from attnspec_authoring.results.page import write_pages

write_pages()

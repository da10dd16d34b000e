"""Errors, texts, files and the table of extensions, on which every room stands; nothing here knows of attention."""

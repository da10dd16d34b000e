"""What every room stands on: errors, texts, files, the table of extensions; it knows nothing of attention."""

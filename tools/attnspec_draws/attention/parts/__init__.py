"""Parts of random cases of attention: extents, exclusions, numbers, refusals."""

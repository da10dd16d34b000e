"""The reference of caches."""

"""Test vectors of attention in the forms of other suites."""

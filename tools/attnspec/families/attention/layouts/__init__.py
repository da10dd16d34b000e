"""Layouts of attention: how arguments are arranged for implementations that lay them out otherwise."""

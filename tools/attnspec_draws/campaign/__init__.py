"""Campaigns: hunting with draws for what golden cases miss, on any number of workers, and going on where one ended."""

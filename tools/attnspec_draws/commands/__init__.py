"""The commands of random cases: campaigns and the judge."""

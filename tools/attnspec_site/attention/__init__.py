"""Pages of the site that are about attention alone: the playground."""

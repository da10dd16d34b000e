"""Reports: results of a run as data, with the sentences that people read of them."""

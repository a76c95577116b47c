"""The report view: everything that a report says of a run, in order, made once for every output that shows it."""

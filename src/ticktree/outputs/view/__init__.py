"""The report view: everything that a report shows of a run, in order, made once for every output that renders it."""

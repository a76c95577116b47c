"""The course of a run: whether a loop was as fast at its end as at its beginning, and if not, since when and where."""

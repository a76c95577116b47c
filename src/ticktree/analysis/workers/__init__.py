"""Crews: who took part in a run, whether equals did as much, who waited for whom, and what set its length."""

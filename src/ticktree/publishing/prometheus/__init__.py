"""Prometheus: a page that it reads whenever it wants to know."""

"""Helpers that several test modules use. Importable as `support` through `pythonpath` in pyproject.toml."""

"""Importers: read other programs' files as profiles, one module per format."""

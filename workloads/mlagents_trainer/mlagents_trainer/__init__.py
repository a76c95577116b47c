"""The ML-Agents toolkit's own trainer, and a player in Python that it trains."""

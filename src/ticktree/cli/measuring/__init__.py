"""What `ticktree doctor --measure` measures: one file a ceiling, each the best of many rounds.

A ceiling is a maximum, and whatever else a machine does makes a round slower and never faster.
"""

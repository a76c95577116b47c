"""Cycles: what a program does again and again, and what is known of its parts: what the rules about loops ask."""

"""Drop-in replacements for other timers' APIs: change the import, and ticktree records."""

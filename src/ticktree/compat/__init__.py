"""Faces of other timers' programming interfaces: change the import, and ticktree records."""

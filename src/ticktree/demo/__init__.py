"""The program of `ticktree demo`: written like a user's, with no dependencies other than ticktree's."""

"""History: past runs of a directory, in a database next to them."""

from ticktree.history.collect import store_run, update_history
from ticktree.history.store import HISTORY_NAME, Store, StoreError

__all__ = ["HISTORY_NAME", "Store", "StoreError", "store_run", "update_history"]

"""History: the runs of a directory, remembered in a database beside them."""

from ticktree.run.history.store import HISTORY_NAME, Store, StoreError
from ticktree.run.history.taking import Taken, remember, take_in

__all__ = ["HISTORY_NAME", "Store", "StoreError", "Taken", "remember", "take_in"]

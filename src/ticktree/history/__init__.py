"""History: the runs of a directory, remembered in a database next to them."""

from ticktree.history.store import HISTORY_NAME, Store, StoreError
from ticktree.history.taking import Taken, remember, take_in

__all__ = ["HISTORY_NAME", "Store", "StoreError", "Taken", "remember", "take_in"]

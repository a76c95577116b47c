"""History: past runs of a directory, in a database next to them."""

from ticktree.history.collect import Taken, remember, take_in
from ticktree.history.store import HISTORY_NAME, Store, StoreError

__all__ = ["HISTORY_NAME", "Store", "StoreError", "Taken", "remember", "take_in"]

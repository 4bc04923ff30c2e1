"""Threads of LangGraph's own savers, brought into a store.

`sources` reads the tables of `SqliteSaver` and `PostgresSaver` (and of their async twins, which
have the same), `bringing` writes what is read, `comparing` reads both sides through LangGraph's
saver API and sees that they say the same. `raw` is why no type of the application has to be
importable for that.
"""

from forkpoint.stock.bringing import Bringer
from forkpoint.stock.raw import leaving_alone
from forkpoint.stock.sources import open_source

__all__ = ["Bringer", "leaving_alone", "open_source"]

"""Tests run what they say they run: no result of an earlier run is used or kept, but where a test names a folder for them."""

import os

os.environ["GRAPHMEND_CACHE_DIR"] = ""

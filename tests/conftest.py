"""Tests run what they say they run: no result of an earlier run is used or kept, but where a test names a folder for them."""

import os
import sys
from pathlib import Path

import graphmend_lsp

sys.path.append(str(Path(graphmend_lsp.__file__).parent / "support"))  # what mended programs import
os.environ["GRAPHMEND_CACHE_DIR"] = ""

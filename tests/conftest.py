"""Tests run what they say they run, on the CPU: no result of an earlier run is used or kept, but where a test names a folder for them.

With GRAPHMEND_TEST_CUDA set they see the machine's CUDA devices.
"""

import os
import sys
from pathlib import Path

import graphmend_lsp

sys.path.append(str(Path(graphmend_lsp.__file__).parent / "support"))  # what mended programs import
os.environ["GRAPHMEND_CACHE_DIR"] = ""
if not os.environ.get("GRAPHMEND_TEST_CUDA"):
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

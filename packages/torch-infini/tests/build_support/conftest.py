"""Makes the build's own modules importable, as `setup.py` does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

"""What all tests share: property tests try new examples at each run by hand, and always the same ones in continuous
integration."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

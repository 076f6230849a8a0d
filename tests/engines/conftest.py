"""Clusters that tests start have a token of their own.

Ray settles this when it is imported; with nothing said it looks for a token in the home folder, or writes one there.
"""

from __future__ import annotations

import os
import secrets

os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)

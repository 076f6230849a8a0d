"""Files of any kind, local or remote, compressed or not: paths, lines, atomic writes, tables, arrays."""

from __future__ import annotations

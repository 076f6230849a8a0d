"""File access, local or remote, compressed or not: paths, lines, atomic writes, tables, arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu._lazy import lazy_names

if TYPE_CHECKING:
    from trubleu.files.lines import iterate_lines as iterate_lines
    from trubleu.files.lines import read_text_lines as read_text_lines
    from trubleu.files.paths import check_standard_input_once as check_standard_input_once
    from trubleu.files.writer import atomic_writer as atomic_writer
    from trubleu.files.writer import check_writable as check_writable

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "lines": "iterate_lines read_text_lines",
        "paths": "check_standard_input_once",
        "writer": "atomic_writer check_writable",
    },
)

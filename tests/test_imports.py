"""Imports follow the table of folders in `docs/architecture.md`, including those inside functions."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parent.parent / "src" / "trubleu"


def rows() -> list[list[str]]:
    """Return the folders and modules of each row of the table in docs/architecture.md."""
    page = (SOURCE.parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| folder | what it holds |")[2].partition("\n\n")[0]
    return [
        re.findall(r"`(\w+)(?:\.py|/)`", line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")
    ]


GROUND, *_ = ROWS = rows()
LEVEL = {room: level for level, row in enumerate(ROWS) for room in row}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in modules()}


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def imported(path: Path) -> Iterator[tuple[str, int, bool]]:
    """Yield the modules of ours that a module imports, with the line and whether that happens while it is loaded."""

    def visit(node: ast.AST, loading: bool) -> Iterator[tuple[str, int, bool]]:
        if isinstance(node, ast.FunctionDef) and node.name == "_repr_html_":
            return  # how a notebook shows a result: `render` comes after all results
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            if (node.module or "").split(".")[0] == "trubleu":
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    yield full if full in MODULES else str(node.module), node.lineno, loading
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "trubleu":
                    yield alias.name, node.lineno, loading
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, loading and not is_function and not is_for_types)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), True)


@pytest.mark.parametrize("module", [name for name in MODULES if name not in ("trubleu", "trubleu.__main__")])
def test_imports_go_one_way(module: str) -> None:
    room = room_of(module)
    for target, line, _ in imported(MODULES[module]):
        other = room_of(target)
        if other in ("trubleu", room) or (room in GROUND and other in GROUND):
            continue
        allowed = LEVEL[other] < LEVEL[room]
        assert allowed, f"{MODULES[module]}:{line} imports {target}, but {room} comes before {other}"


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {
        name: {target for target, _, loading in imported(path) if loading and target != name}
        for name, path in MODULES.items()
    }
    done: set[str] = set()

    def follow(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " imports ".join((*path[path.index(name) :], name))
        if name not in done:
            for target in sorted(graph.get(name, ())):
                follow(target, (*path, name))
            done.add(name)

    for name in graph:
        follow(name, ())


def test_every_folder_is_in_the_table() -> None:
    assert {room_of(name) for name in MODULES if "." in name} - {"__main__"} == set(LEVEL)


def test_modules_that_the_page_names_exist() -> None:
    page = (SOURCE.parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    known = {path.name for path in SOURCE.rglob("*.py")} | {path.name for path in Path(__file__).parent.rglob("*.py")}
    missing = {name for name in re.findall(r"`(?:[\w/]+/)?(\w+\.py)`", page) if name not in known}
    assert not missing


def test_the_map_lists_every_module() -> None:
    page = (SOURCE.parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    for section in page.split("\n## ")[1:]:
        folders = re.findall(r"`(\w+)/`", section.partition("\n")[0])
        named = {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+\.py)`", section)}
        there = {path.name for folder in folders for path in (SOURCE / folder).rglob("*.py")} - {"__init__.py"}
        assert not folders or named == there, folders

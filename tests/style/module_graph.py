#!/usr/bin/env python3
"""The graph of modules in src/README.md, made from the lists of src/CMakeLists.txt.

usage: module_graph.py [--check | --write] [PROJECT]

Without a flag the graph is printed. --check compares it with src/README.md and fails if they differ, --write puts it there.
An arrow means `uses`; one that follows from others is left out.
"""

import difflib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import style_test

README = "src/README.md"
BEGIN, END = "<!-- module graph: made by tests/style/module_graph.py -->\n", "<!-- end of module graph -->\n"


def needed(table: dict[str, style_test.Module], name: str) -> list[str]:
    """What a module uses, without what it would also reach through another."""
    uses = table[name].uses
    through_others = {far for near in uses for next_one in table[near].uses for far in style_test.reachable(table, next_one)}
    return [used for used in uses if used not in through_others]


def graph(table: dict[str, style_test.Module]) -> str:
    width = max(map(len, table), default=0)
    lines = [f"    {name.ljust(width)} --> {' & '.join(used)}".rstrip() if (used := needed(table, name)) else f"    {name}"
             for name in reversed(table)]
    return "\n".join(["```mermaid", "graph LR", *lines, "```", ""])


def replaced(readme: str, new: str) -> str:
    """Throws ValueError if the marks are not there."""
    begin = readme.index(BEGIN) + len(BEGIN)
    return readme[:begin] + new + readme[readme.index(END, begin):]


def main() -> int:
    flags = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    folders = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if flags not in ([], ["--check"], ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    root = Path(folders[0] if folders else Path(__file__).parents[2]).resolve()
    files = (style_test.MODULE_TABLE,)
    new = graph(style_test.module_table(style_test.Tree(root, files)))
    if not flags:
        print(new, end="")
        return 0
    readme = (root / README).read_text()
    wanted = replaced(readme, new)
    if flags == ["--write"]:
        (root / README).write_text(wanted)
        return 0
    for line in difflib.unified_diff(readme.splitlines(), wanted.splitlines(), README, style_test.MODULE_TABLE, lineterm="", n=1):
        print(line)
    if readme != wanted:
        print("the graph is out of date: python3 tests/style/module_graph.py --write")
    return int(readme != wanted)


if __name__ == "__main__":
    sys.exit(main())

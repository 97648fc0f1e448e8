"""Sizes of functions and files, from the text alone: good enough for code that clang-format has laid out."""

import re
from dataclasses import dataclass

WORDS = re.compile(r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
                   re.DOTALL | re.MULTILINE)
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()=]*$|\b(class|struct)\s+alignas\(")
CONTROL = re.compile(r"^(else )?(if|for|while|switch|do|else|try|catch)\b")
LAMBDA = re.compile(r"\[[^\[\]]*\]\s*(\(|$)")
PARAMETERS = re.compile(r"[\w>\]=~*/+<!-]\s*\(")


@dataclass(frozen=True)
class Function:
    line: int
    lines: int
    nesting: int  # blocks of if, for, while, switch and try within each other
    parameters: int


def blanked(text: str) -> str:
    """The text without comments, literals and preprocessor lines; every line break stays where it is."""
    return WORDS.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def kind_of(head: str) -> str:
    """What a brace begins that stands behind this text."""
    if not head or head[-1] in "=,(" or head.endswith("return") or not head.strip():
        return "values"
    if SCOPE.search(re.sub(r"<[^<>]*>", "", head)):
        return "scope"
    if CONTROL.match(head):
        return "control"
    if LAMBDA.search(head):
        return "lambda"
    return "function" if "(" in head else "values"


def parameter_count(head: str) -> int:
    found = PARAMETERS.search(head)
    if not found:
        return 0
    depth, count, seen = 0, 0, False
    for letter in head[found.end():]:
        if letter == ")" and depth == 0:
            break
        depth += (letter in "(<[{") - (letter in ")>]}")
        count += letter == "," and depth == 0
        seen = seen or not letter.isspace()
    return count + seen


def functions(text: str) -> list[Function]:
    """Definitions in namespaces and classes, from the first line of their heads to their closing braces."""
    text = blanked(text)
    found, stack, start = [], [], 0
    for place, letter in enumerate(text):
        if letter == ";" and not (stack and stack[-1][0] == "values"):
            start = place + 1
        elif letter == "{":
            head = " ".join(text[start:place].split())
            is_value = place > 0 and text[place - 1] not in " \n"
            stack.append(("values" if is_value else kind_of(head), start, place, head))
            if stack[-1][0] != "values":
                start = place + 1
        elif letter == "}" and stack:
            kind, begin, opened, head = stack.pop()
            if kind != "values":
                start = place + 1
            if kind == "function" and all(outer[0] == "scope" for outer in stack):
                begin += len(text[begin:opened]) - len(text[begin:opened].lstrip())
                found.append(Function(text.count("\n", 0, begin) + 1, text.count("\n", begin, place) + 1,
                                      nesting(text[opened + 1:place]), parameter_count(head)))
    return found


def nesting(body: str) -> int:
    stack, start, deepest = [], 0, 0
    for place, letter in enumerate(body):
        if letter in ";{}":
            head = " ".join(body[start:place].split())
            start = place + 1
            if letter == "{":
                stack.append(bool(CONTROL.match(head)))
                deepest = max(deepest, sum(stack))
            elif letter == "}" and stack:
                stack.pop()
    return deepest

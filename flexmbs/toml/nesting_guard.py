"""Check of TOML text before parsing.

Nesting and dotted keys that would make the parser use unbounded time or memory.
"""

import re

from flexmbs.errors import InputError

LARGEST_DEPTH = 16
LONGEST_KEY = 8
TOKEN = re.compile(
    r"""(?P<triple>\"{3}|'{3})|(?P<text>"(?:\\.|[^"\\\n])*(?P<end>"?)|'[^'\n]*(?P<tail>'?))|(?P<comment>\#[^\n]*)
    """
    r"""|(?P<open>[\[{])|(?P<close>[\]}])|(?P<dot>\.)|(?P<key>[\w+ \t-]+)|(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
CLOSING = {
    '"""': re.compile(r'(?:[^\\]|\\.)*?"""', re.DOTALL),
    "'''": re.compile(r".*?'''", re.DOTALL),
}


def check_nesting(text: str, where: str) -> None:
    """Raise `InputError` for TOML text with too deep nesting or too long keys.

    Brackets are nested at most `LARGEST_DEPTH` deep, keys have at most `LONGEST_KEY` parts.

    One pass; it stops at invalid TOML, which the parser rejects as well.
    """
    at = depth = dots = 0
    while match := TOKEN.match(text, at):
        at = match.end()
        match match.lastgroup:
            case "triple":
                closed = CLOSING[match["triple"]].match(text, at)
                if closed is None:
                    return
                at, dots = closed.end(), 0
            case "text" | "end" | "tail":
                if not (match["end"] or match["tail"]):
                    return
            case "open":
                depth, dots = depth + 1, 0
            case "close":
                depth, dots = depth - 1, 0
            case "dot":
                dots += 1
            case "comment" | "other":
                dots = 0
        if depth > LARGEST_DEPTH or dots >= LONGEST_KEY:
            line = text.count("\n", 0, at) + 1
            kind = (
                f"nested deeper than {LARGEST_DEPTH} levels"
                if depth > LARGEST_DEPTH
                else f"a key of over {LONGEST_KEY} parts"
            )
            raise InputError(f"{where}:{line}: {kind}; reduce it")

"""Links between equations and functions, both ways: every source file that a page names under
``Code:`` or in a table, as `flexmbs/dynamics/inertia.py: mass_matrix`, becomes a page with its
lines, and its functions point back to the sections."""

import html
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"((?:flexmbs|preprocess|tests|reports|docs)/[\w/.-]+\.py)(?:: ([\w., ]+))?")
TITLE = "code/"


def lines_of(path: str) -> dict[str, int]:
    """Line of each function, class, ``Class.method`` and constant of a file."""
    found, owner = {}, ""
    for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
        if at := re.match(r"(\s*)(?:def|class) (\w+)|(\w+)(?:: [^=]+)? = ", line):
            name = at[2] or at[3]
            owner = name if not at[1] and line.lstrip().startswith("class") else owner
            found.setdefault(f"{owner}.{name}" if at[1] else name, number)
    return found


def link(app: Sphinx, tree: nodes.document, docname: str) -> None:
    """Replace the literals that name code by links, and remember from which section they come."""
    named: dict[str, dict[str, list[tuple[str, str, str]]]] = app.env.__dict__.setdefault(
        "code_named", {}
    )
    for literal in list(tree.findall(nodes.literal)):
        at = NAMED.fullmatch(literal.astext())
        if at is None or not (ROOT / at[1]).is_file():
            continue
        section, title = _section(literal, tree)
        places = lines_of(at[1])
        parts: list[nodes.Node] = []
        for name in (at[2] or "").split(", "):
            target = app.builder.get_relative_uri(docname, TITLE + at[1].removesuffix(".py"))
            anchor = f"#line-{places[name]}" if name in places else ""
            shown = f"{at[1]}: {name}" if not parts and name else name or at[1]
            parts += [nodes.Text(", ")] if parts else []
            parts.append(
                nodes.reference(
                    "", "", nodes.literal(text=shown), refuri=target + anchor, internal=True
                )
            )
            named.setdefault(at[1], {}).setdefault(name, []).append((docname, section, title))
        literal.replace_self(parts)


def _section(node: nodes.Node, tree: nodes.document) -> tuple[str, str]:
    """Anchor and title of the section of a node."""
    while node is not None and not isinstance(node, nodes.section):
        node = node.parent
    if node is None:
        return "", tree.get("title", "")
    return node["ids"][0], node.next_node(nodes.title).astext()


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page of each named file."""
    for path, names in sorted(getattr(app.env, "code_named", {}).items()):
        page = TITLE + path.removesuffix(".py")
        code = highlight(
            (ROOT / path).read_text(encoding="utf-8"),
            PythonLexer(),
            HtmlFormatter(lineanchors="line", linenos="inline"),
        )
        places = lines_of(path)
        back = defaultdict(dict)
        for name, where in names.items():
            for docname, section, title in where:
                back[name][f"{relative_uri(page + '.html', docname + '.html')}#{section}"] = title
        rows = [
            "<li><a "
            f'href="#line-{places.get(name, 1)}"><code>{html.escape(name or path)}</code></a>: '
            + ", ".join(f'<a href="{uri}">{html.escape(title)}</a>' for uri, title in found.items())
            + "</li>"
            for name, found in sorted(back.items(), key=lambda pair: places.get(pair[0], 1))
        ]
        head = (
            f"<h1>{html.escape(path)}</h1><p>Sections with the equations of "
            f"each function:</p><ul>{''.join(rows)}</ul>"
        )
        yield page, {"title": path, "body": head + code}, "page.html"


def forget(app: Sphinx, env: Any, docname: str) -> None:
    """A page is read again: what it named before counts no longer."""
    for names in getattr(env, "code_named", {}).values():
        for name in names:
            names[name] = [each for each in names[name] if each[0] != docname]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", link)
    app.connect("env-purge-doc", forget)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": False, "parallel_write_safe": False}

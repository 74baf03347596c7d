"""Cards that notebooks display for an object: verdict first, then tables and a picture.

Their HTML has neither scripts nor style sheets, which notebooks remove from untrusted cells.
"""

import html
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flexmbs.page.html import Picture

COLOURS = {"PASS": "#1a7f37", "WARN": "#9a6700", "FAIL": "#cf222e"}  # on light and dark pages
OTHER = "#6e7781"
CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top"
MOST_ROWS = 60  # of a table: longer ones are cut, with a line that says so


class Table(NamedTuple):
    """Table with a title; its rows are texts."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[object]]
    folded: bool = False


def card(
    title: str,
    *,
    verdict: str = "",
    lines: Iterable[str] = (),
    tables: Iterable[Table] = (),
    picture: Picture | None = None,
) -> str:
    """HTML of a card; all texts are escaped."""
    colour = COLOURS.get(verdict, OTHER)
    badge = (
        f'<span style="color:#fff;background:{colour};border-radius:4px;padding:1px 8px;'
        f'margin-right:8px;font-weight:600">{html.escape(verdict)}</span>'
        if verdict
        else ""
    )
    parts = [f"<p>{badge}<strong>{html.escape(title)}</strong></p>"]
    parts += [f"<p>{html.escape(line)}</p>" for line in lines if line]
    if picture is not None:
        parts.append(
            f'<img src="{html.escape(picture.source)}" alt="{html.escape(picture.alt)}" '
            'style="max-width:640px;width:100%;background:#fff;border-radius:6px">'
        )
    parts += [_table(table) for table in tables if table.rows]
    return f'<div class="flexmbs">{"".join(parts)}</div>'


def _table(table: Table) -> str:
    """HTML of a table, which opens on request if ``folded``."""
    head = "".join(f'<th style="{CELL}">{html.escape(name)}</th>' for name in table.heads)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{CELL}">{html.escape(str(each))}</td>' for each in row)
        + "</tr>"
        for row in table.rows[:MOST_ROWS]
    )
    more = len(table.rows) - MOST_ROWS
    rest = f"<p>… and {more} more</p>" if more > 0 else ""
    content = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"
    if table.folded:
        return f"<details><summary>{html.escape(table.title)}</summary>{content}</details>"
    return f"<p>{html.escape(table.title)}</p>{content}"

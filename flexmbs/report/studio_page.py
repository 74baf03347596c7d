"""Page on which the numbers of a model are edited, checked and run."""

from typing import Any

from flexmbs import __version__
from flexmbs.page.html import rendered
from flexmbs.player.markup import scene_text, studio_code


def studio_page(file: str, opened: dict[str, Any], date: str) -> str:
    """HTML text of the page of a model file, with its parameters and first check."""
    check = opened["check"]
    return rendered(
        "flexmbs.report",
        "studio.html",
        studio_code(),
        file=file,
        name=opened["name"],
        version=__version__,
        date=date,
        tiles=[],
        still=None,
        scene=scene_text(check["scene"]) if check["scene"] else "null",
        state=scene_text(opened | {"check": check | {"scene": None}}),
    )

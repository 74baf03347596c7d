"""Pieces of model files, and reading them."""

from declared import problems_of

import flexmbs as fm

HEAD = 'format = "flexmbs-model/1"\nname = "m"\n'
BODY = '[bodies.b]\nkind = "rigid"\nmass = 1.0\ninertia = [1, 1, 1]\nframes = { tip = [1, 0, 0] }\n'
JOINT = '[joints.j]\nkind = "revolute"\nparent = "ground"\nchild = "b"\n'


def read(folder, text: str | bytes, **options) -> fm.Model:
    path = folder / "m.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return fm.load(path, **options)


def problems(folder, text: str | bytes, **options) -> list[str]:
    """Problems of a text without the folder's name."""
    return [
        p.removeprefix(f"{folder}/") for p in problems_of(lambda: read(folder, text, **options))
    ]

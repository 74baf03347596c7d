"""Pages written from the code before a build: the API by name, the kinds of model files, the
studies of `reports/`.
"""

import inspect
import re
import shutil
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import flexmbs as fm
import preprocess as pp
from flexmbs.command.item_help import example
from flexmbs.command.listing import all_kinds
from flexmbs.declaration import Declaration
from preprocess.fe.material_library import BUILT_IN, read_materials

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
PICTURES = ("*.png", "*.svg", "*.jpg")
GROUPS = {  # title: packages whose names it has, in the order of a project
    "Models": ("api.model", "model.frames", "model.bodies", "model.run"),
    "Shapes": ("model.shapes",),
    "Joints": ("model.joints", "motions", "model.relations"),
    "Forces": ("model.forces", "model.drives", "model.rotors", "model.algebraic"),
    "Laws and controllers": ("model.laws", "model.actuators", "model.digital"),
    "Couplings": ("model.couplings", "model.general_couplings"),
    "Contacts": ("model.contacts", "model.contact_laws"),
    "Studies": ("studies", "diagnosis", "initial", "time_stepping"),
    "Formalisms": ("formalisms",),
    "Integrators": ("integrators",),
    "Results": ("api.solution", "api.fatigue", "results", "signals", "durability"),
    "Robots": ("robots", "cad"),
    "Flexible bodies": ("flexible_body",),
    "Errors and warnings": ("errors",),
}
PREPROCESS = {
    "Meshes": ("mesh", "mesh_files", "cad"),
    "Finite elements": ("fe", "elements"),
    "Reductions": ("reduction",),
    "Bodies": ("body", "part_file"),
    "Other programs": ("formats", "inputs"),
}
THEORY = ("docs/theory.md", ":doc:`theory </theory>`")
METHODS = (
    "Model",
    "Solution",
    "Signal",
    "Psd",
    "Robot",
    "Linearization",
    "FlexibleBodyData",
    "SNCurve",
    "SweepResult",
    "ModelWithParts",
    "FEModel",
    "Mesh",
    "Part",
)


def write_pages(app: Sphinx) -> None:
    """Write all pages whose content has changed."""
    write_api(fm, "flexmbs", GROUPS)
    write_api(pp, "preprocess", PREPROCESS)
    write_kinds()
    write_materials()
    write_studies()
    put(DOCS / "changelog.md", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))


def put(path: Path, text: str) -> None:
    """Write a file unless it has this text: unchanged pages are not built again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def homes(package: ModuleType) -> dict[str, str]:
    """Module of each public name, as its stub imports it, relative to the package."""
    stub = Path(str(package.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    return {
        name: module
        for module, name in re.findall(r"^from \.([\w.]*) import \w+ as (\w+)$", stub, re.MULTILINE)
    }


def grouped(package: ModuleType, groups: dict[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """Public names by group. Raises if a name belongs to none."""
    found: dict[str, list[str]] = {title: [] for title in groups}
    for name, module in homes(package).items():
        module = module or name
        titles = [
            title
            for title, starts in groups.items()
            if any(f"{module}.".startswith(f"{start}.") for start in starts)
        ]
        if len(titles) != 1:
            raise ValueError(
                f"{package.__name__}.{name} of {module} belongs to "
                f"{titles or 'no group'}; see written_pages.GROUPS"
            )
        found[titles[0]].append(name)
    return found


def write_api(package: ModuleType, title: str, groups: dict[str, tuple[str, ...]]) -> None:
    """A page for each name, and one with all of them in groups, each with its first sentence."""
    lines = [title, "=" * len(title), ""]
    for group, names in grouped(package, groups).items():
        lines += [
            group,
            "-" * len(group),
            "",
            ".. list-table::",
            "   :widths: 25 75",
            "",
        ]
        for name in names:
            lines += [
                f"   * - :doc:`{name} <{title}/{name}>`",
                f"     - {plain(summary(getattr(package, name)))}",
            ]
            put(DOCS / "api" / title / f"{name}.rst", page(package, name))
        lines.append("")
    listed = [f"   {title}/{name}" for names in grouped(package, groups).values() for name in names]
    put(
        DOCS / "api" / f"{title}.rst",
        "\n".join([*lines, ".. toctree::", "   :hidden:", "", *listed, ""]),
    )


def summary(thing: Any) -> str:
    """First sentence of a documentation."""
    text = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[^.])[.:] ", text)[0].rstrip(".")


def plain(text: str) -> str:
    """Text of a docstring for a page: bars are absolute values, not substitutions of
    reStructuredText; the theory is a link.

    Examples stay as they are.
    """
    text, heading, examples = text.partition("Examples\n--------\n")
    parts = re.split(r"(``.*?``)", text)
    linked = [
        part if part.startswith("``") else part.replace("|", "\\|").replace(*THEORY)
        for part in parts
    ]
    return "".join([*linked, heading, examples])


def plain_docstring(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Prepare a docstring for autodoc, in place."""
    lines[:] = plain("\n".join(lines)).split("\n")


def shown_example(cls: type[Declaration]) -> list[str]:
    """The example of a kind as a block; of a law or motion as the value of a key."""
    text = example(cls)
    text = f"{cls.section.split()[-1].removesuffix('s')} = {text}" if text.startswith("{") else text
    return [".. code-block:: toml", "", *(f"   {line}" for line in text.splitlines()), ""]


def page(package: ModuleType, name: str) -> str:
    """The page of one name; of a kind also how a model file has it."""
    thing, full = getattr(package, name), f"{package.__name__}.{name}"
    lines = [f"{full}", "=" * len(full), "", f".. currentmodule:: {package.__name__}", ""]
    if inspect.ismodule(thing):
        return "\n".join(
            [
                *lines,
                f".. automodule:: {full}",
                "   :members:",
                "   :imported-members:",
                "   :no-index:",
                "",
            ]
        )
    lines.append(f".. {'autoclass' if isinstance(thing, type) else 'autofunction'}:: {name}")
    if name in METHODS:
        lines += ["   :members:", "   :inherited-members:"]
    lines.append("")
    if isinstance(thing, type) and issubclass(thing, Declaration) and thing.kind:
        file = "In a study file" if thing.section == "design" else "In a model file"
        lines += [file, "-" * len(file), "", *shown_example(thing)]
    return "\n".join(lines)


def write_kinds() -> None:
    """The kinds of model and study files by family, with keys and examples."""
    lines = [
        "Kinds of items",
        "==============",
        "",
        "Output of ``flexmbs list KIND`` for all kinds.",
        "",
    ]
    for family, kinds in all_kinds().items():
        declared = {
            kind: cls
            for kind, cls in kinds.items()
            if isinstance(cls, type) and issubclass(cls, Declaration)
        }
        if not declared:
            continue
        lines += [family, "-" * len(family), ""]
        for kind, cls in declared.items():
            lines += [
                kind,
                "~" * len(kind),
                "",
                *plain(inspect.getdoc(cls) or "").partition("\n\nParameters\n")[0].splitlines(),
                "",
            ]
            for field in cls.ordered_fields():
                if field.name != "name":
                    kind_text, text = cls._texts.get(field.name, ("", ""))
                    lines += [
                        f"``{field.name}`` : {kind_text}",
                        f"   {plain(' '.join(text.split()))}",
                        "",
                    ]
            lines += shown_example(cls)
    put(DOCS / "formats" / "kinds.rst", "\n".join(lines))


def write_materials() -> None:
    """The materials that have names, with the sources of their numbers."""
    table = tomllib.loads(BUILT_IN.read_text(encoding="utf-8"))
    lines = [
        "# Materials",
        "",
        "Materials of `pp.material`, part files and `preprocess materials` "
        "([how to use and extend them](../howto/materials.md)); α is the linear thermal expansion.",
        "",
        "| name, aliases | E [GPa] | ν | ρ [kg/m³] | yield [MPa] | α [10⁻⁶/K] | S–N | note | sources |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for data in read_materials(BUILT_IN):
        sources = dict.fromkeys(data.sources.values())
        cells = (
            f"**{data.name}** {', '.join(data.aliases)}",
            f"{data.E / 1e9:.4g}",
            f"{data.nu:.3g}",
            f"{data.rho:.4g}",
            "" if data.yield_stress is None else f"{data.yield_stress / 1e6:.4g}",
            "" if data.expansion is None else f"{data.expansion * 1e6:.3g}",
            "" if data.fatigue is None else "yes",
            data.note,
            "; ".join(
                f"{', '.join(key for key in data.sources if data.sources[key] == source)}: {source}"
                for source in sources
            ),
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"- {key}: {text}" for key, text in table["references"].items()), ""]
    put(DOCS / "formats" / "materials.md", "\n".join(lines))


def write_studies() -> None:
    """A page of each README below `reports/`, with its pictures."""
    found = sorted((ROOT / "reports").rglob("README.md"))
    for readme in found:
        place = DOCS / "studies" / readme.parent.relative_to(ROOT / "reports")
        below = [
            f"{each.parent.name}/index" for each in found if each.parent.parent == readme.parent
        ]
        tree = "\n\n```{toctree}\n:hidden:\n" + "\n".join(below) + "\n```\n" if below else ""
        put(place / "index.md", studied(readme) + tree)
        for picture in (each for kind in PICTURES for each in readme.parent.glob(kind)):
            shutil.copy2(picture, place / picture.name)


def studied(readme: Path) -> str:
    """The text of a README with links that lead to pages of the documentation, or to nothing where
    there is none.
    """
    text = readme.read_text(encoding="utf-8")

    def target(at: re.Match[str]) -> str:
        new = page_of((readme.parent / at[1].partition("#")[0]).resolve())
        return f"]({new})" if new else at[0]

    linked = re.sub(r"\]\(([^)\s:]+)\)", target, text)
    return re.sub(
        r"(?<!!)\[([^\]\n]*)\]\((?!/)[^)\s:]+\)", lambda at: f"`{at[1].strip('`')}`", linked
    )


def page_of(path: Path) -> str:
    """The page of a file or folder of the repository, from the root of the documentation; empty if
    there is none.
    """
    path = path / "README.md" if path.is_dir() else path
    if path.parent == DOCS:
        return f"/{path.name}"
    if path.is_relative_to(ROOT / "reports") and path.name == "README.md":
        return f"/studies/{path.parent.relative_to(ROOT / 'reports')}/index.md"
    return ""


def relink(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links of committed pages to READMEs lead to the pages of these."""
    if docname in ("equations", "features", "theory"):
        source[0] = re.sub(
            r"\(\.\./reports/([\w/]+)/README\.md\)", r"(/studies/\1/index.md)", source[0]
        )
    if docname == "changelog":
        source[0] = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages, priority=100)
    app.connect("source-read", relink)
    app.connect("autodoc-process-docstring", plain_docstring, priority=100)
    return {"parallel_read_safe": True}

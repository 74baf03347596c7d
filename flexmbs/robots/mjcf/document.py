"""Elements of an MJCF file and of the files that it includes, and its default classes."""

from dataclasses import replace
from pathlib import Path

from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError
from flexmbs.files.path_policy import PathPolicy
from flexmbs.files.xml_tree import XmlElement, read_xml
from flexmbs.robots.import_result import ImportLog
from flexmbs.robots.mjcf.values import ORIENTATIONS

INCLUDED = ("mujoco", "mujocoinclude")
ACTUATORS = (
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
    "orientation",
    "pid",
)
MAIN = "main"


def read_document(path: Path, reach: PathPolicy) -> XmlElement:
    """Root <mujoco> with the content of included files in place of <include>.

    Raises `InputError`.
    """
    root = read_xml(path)
    if root.tag != "mujoco":
        raise InputError(f"{root.place}: the root element must be <mujoco>, not <{root.tag[:40]}>")
    return _Includes(path, reach).expanded(root)


class _Includes:
    """Replacement of <include> by the content of its file; a file can be included once."""

    def __init__(self, path: Path, reach: PathPolicy) -> None:
        self.reach, self.seen = reach, {path.resolve()}

    def expanded(self, element: XmlElement) -> XmlElement:
        """Element with all included files in place of <include>."""
        children: list[XmlElement] = []
        for child in element.children:
            children += self._included(child) if child.tag == "include" else [self.expanded(child)]
        return replace(element, children=children)

    def _included(self, element: XmlElement) -> list[XmlElement]:
        """Elements of the file that <include> names. Raises `InputError`."""
        name = element.attributes.get("file", "")
        if not name:
            raise InputError(f"{element.place}: <include>: attribute 'file' is missing")
        try:
            path = self.reach.path(name, self.reach.folder, element.path.parent)
        except ValueError as error:
            raise InputError(f"{element.place}: include {error}") from None
        if path in self.seen:
            raise InputError(
                f"{element.place}: include {shown(name)}: the file is already included; a "
                "file can be included once"
            )
        self.seen.add(path)
        root = read_xml(path)
        if root.tag not in INCLUDED:
            raise InputError(
                f"{root.place}: the root element of an included file must be <mujoco>, "
                f"not <{root.tag[:40]}>"
            )
        return self.expanded(root).children


class Defaults:
    """Attributes by default class; a nested class inherits those of its enclosing class."""

    def __init__(self, root: XmlElement, report: ImportLog) -> None:
        """Default attributes by class from all sections <default>."""
        self.report = report
        self.classes: dict[str, dict[str, dict[str, str]]] = {MAIN: {}}
        # outermost class first
        self.actuators: dict[str, tuple[list[XmlElement], ...]] = {MAIN: ([],)}
        for section in root.all("default"):
            main = section.attributes.get("class", MAIN)
            self.classes.setdefault(main, self.classes[MAIN])
            self.actuators.setdefault(main, self.actuators[MAIN])
            self._fill(main, section)

    def _fill(self, name: str, section: XmlElement) -> None:
        """Collect the defaults of a class and of the classes nested in it."""
        known = self.classes[name]
        for element in section.children:
            if element.tag in ACTUATORS:
                self.actuators[name][-1].append(element)
            elif element.tag != "default":
                known[element.tag] = merged(known.get(element.tag, {}), element.attributes)
        for nested in section.all("default"):
            inner = nested.attributes.get("class", "")
            if not inner or (inner in self.classes and inner != MAIN):
                self.report.problem(
                    nested,
                    f"default class {shown(inner)} has no unique name; name each class once",
                )
                continue
            self.classes[inner] = {tag: dict(each) for tag, each in known.items()}
            # copied in their present state
            self.actuators[inner] = (*map(list, self.actuators[name]), [])
            self._fill(inner, nested)

    def of(self, element: XmlElement, around: str, tag: str = "") -> dict[str, str]:
        """Attributes of an element, completed by the defaults of its class.

        Its own precede those of its class, or of the enclosing class ``around``.
        """
        return merged(
            self.classes[self.name_of(element, around)].get(tag or element.tag, {}),
            element.attributes,
        )

    def name_of(self, element: XmlElement, around: str) -> str:
        """Name of the default class of an element."""
        name = element.attributes.get("class", around)
        if name in self.classes:
            return name
        self.report.problem(
            element, f"there is no default class {shown(name)}; {close_names(name, self.classes)}"
        )
        return MAIN


def merged(defaults: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    """Own attributes merged over the defaults; an own orientation replaces one of another form."""
    turned = any(key in own for key in ORIENTATIONS)
    return {
        key: value for key, value in defaults.items() if not (turned and key in ORIENTATIONS)
    } | own

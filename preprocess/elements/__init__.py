"""Solid elements: one file per element and one line each in the table below."""

from preprocess.elements.element import Element, FaceTable, Quadrature
from preprocess.elements.hex8 import HEX8
from preprocess.elements.hex20 import HEX20
from preprocess.elements.hex27 import HEX27
from preprocess.elements.pyramid5 import PYRAMID5
from preprocess.elements.pyramid13 import PYRAMID13
from preprocess.elements.tet4 import TET4
from preprocess.elements.tet10 import TET10
from preprocess.elements.wedge6 import WEDGE6
from preprocess.elements.wedge15 import WEDGE15

ELEMENTS: dict[str, Element] = {
    element.name: element
    for element in (TET4, TET10, HEX8, HEX20, HEX27, WEDGE6, WEDGE15, PYRAMID5, PYRAMID13)
}

__all__ = ["ELEMENTS", "Element", "FaceTable", "Quadrature"]

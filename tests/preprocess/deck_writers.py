"""Small decks of one part, written in the formats of several programs.

The part has nodes (N, 3) and elements of several types by name, (ne, nn) node indices in VTK order.
Node k has the number 7 + 3 k, elements are numbered from 11 on in the order of the types.
"""

import itertools

import h5py
import numpy as np

E, NU, RHO = 2.1e5, 0.3, 7.85e-9  # mm-t-s
THICK = 2.5
SHELLS = ("tri3", "quad4", "tri6", "quad8")


def number(node):
    return 7 + 3 * int(node)


def numbered(elements):
    """Type, number and node numbers of each element."""
    first = itertools.count(11)
    for kind, table in elements.items():
        for row in table:
            yield kind, next(first), [number(node) for node in row]


def nastran(nodes, elements, extra="", offset=0.0):
    """Bulk data with free fields."""
    cards = {
        "tet": "CTETRA", "hex": "CHEXA", "wed": "CPENTA", "pyr": "CPYRAM",
        "tri3": "CTRIA3", "quad4": "CQUAD4", "tri6": "CTRIA6", "quad8": "CQUAD8",
    }  # fmt: skip
    order = {
        "hex20": [*range(12), 16, 17, 18, 19, 12, 13, 14, 15],
        "wedge15": [*range(9), 12, 13, 14, 9, 10, 11],
    }
    lines = ["BEGIN BULK", f"MAT1,1,{E},,{NU},{RHO}", "PSOLID,1,1", f"PSHELL,2,1,{THICK},1,,1"]
    lines += [f"GRID,{number(k)},,{x!r},{y!r},{z!r}" for k, (x, y, z) in enumerate(nodes.tolist())]
    for kind, own, row in numbered(elements):
        row = [row[k] for k in order.get(kind, range(len(row)))]
        fields = [own, 2 if kind in SHELLS else 1, *row]
        if kind in SHELLS and offset:
            fields += [""] * ({"tri6": 14, "quad8": 15}.get(kind, len(row) + 3) - len(fields))
            fields += [offset]
        texts = [str(field) for field in fields]
        card = cards.get(kind) or cards[kind[:3]]
        lines += [
            ",".join([card if k == 0 else "", *texts[k : k + 8]]) for k in range(0, len(texts), 8)
        ]
    return "\n".join([*lines, extra, "ENDDATA", ""])


COLLAPSED = {  # corners of a hexahedron by those of the solid
    "tet": [0, 1, 2, 2, 3, 3, 3, 3],
    "pyr": [0, 1, 2, 3, 4, 4, 4, 4],
    "wed": [0, 1, 2, 2, 3, 4, 5, 5],
    "hex": list(range(8)),
}
HEXAHEDRON = (
    (0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7),
)  # fmt: skip
BETWEEN = {
    "tet10": ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)),
    "pyramid13": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4)),
    "wedge15": ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)),
    "hex20": HEXAHEDRON,
}


def collapsed(kind, row):
    """The eight or twenty nodes of a hexahedron with coincident nodes, as Ansys lists them."""
    places = COLLAPSED[kind[:3]]
    corners = [row[k] for k in places]
    if kind not in BETWEEN:
        return corners
    first = max(places) + 1
    middle = {frozenset(pair): row[first + k] for k, pair in enumerate(BETWEEN[kind])}
    ends = [(places[a], places[b]) for a, b in HEXAHEDRON]
    return corners + [row[a] if a == b else middle[frozenset((a, b))] for a, b in ends]


def ansys(nodes, elements, extra="", offset="MID"):
    """Archive as CDWRITE writes it."""
    lines = ["/COM,ANSYS RELEASE", "/PREP7", "/NOPR", "/UNITS,MPA"]
    types = {"hex8": (1, 185), "hex20": (2, 186), "shell": (3, 181), "shell8": (4, 281)}
    lines += [f"ET,{own},{kind}" for own, kind in types.values()]
    lines += ["NBLOCK,6,SOLID,1000,1000", "(3i9,6e25.16)"]
    lines += [
        f"{number(k):9d}{0:9d}{0:9d}" + "".join(f"{x:25.16E}" for x in point)
        for k, point in enumerate(nodes.tolist())
    ]
    lines += ["N,R5.3,LOC,       -1,", "EBLOCK,19,SOLID,1000,1000", "(19i9)"]
    for kind, own, row in numbered(elements):
        if kind in SHELLS:
            corners = row if kind in ("quad4", "quad8") else row[:3] + row[2:3]
            if kind == "tri6":
                corners = [*row[:3], row[2], row[3], row[4], row[2], row[5]]
            what, section = types["shell8" if len(row) > 4 else "shell"][0], 5
            full = corners
        else:
            full = collapsed(kind, row)
            what, section = types["hex20" if len(full) > 8 else "hex8"][0], 1
        fields = [1, what, 1, section, 0, 0, 0, 0, len(full), 0, own, *full]
        lines += ["".join(f"{x:9d}" for x in fields[:19])]
        lines += ["".join(f"{x:9d}" for x in fields[19:])] if len(fields) > 19 else []
    lines += ["       -1", f"MPTEMP,R5.0, 1, 1, 0.0,\nMPDATA,R5.0, 1,EX  , 1, 1, {E},"]
    lines += [f"MPDATA,R5.0, 1,PRXY, 1, 1, {NU},", f"MPDATA,R5.0, 1,DENS, 1, 1, {RHO},"]
    lines += ["SECTYPE, 5,SHELL,   , ", f"SECOFFSET,{offset}", f"SECBLOCK, 1\n {THICK}, 1, 0.0, 3"]
    return "\n".join([*lines, extra, "/GO", "FINISH", ""])


def ls_dyna(nodes, elements, extra=""):
    """Keyword file with the columns of the standard format."""
    lines = ["$ a comment", "*KEYWORD", "*NODE"]
    lines += [
        f"{number(k):8d}" + "".join(f"{x:16.9E}" for x in point)
        for k, point in enumerate(nodes.tolist())
    ]
    groups = {"*ELEMENT_SOLID": [], "*ELEMENT_SHELL": []}
    for kind, own, row in numbered(elements):
        if kind in SHELLS:
            full = row if kind != "tri3" else [*row, row[-1]]
            groups["*ELEMENT_SHELL"] += ["".join(f"{x:8d}" for x in (own, 2, *full))]
        elif kind == "tet10":
            both = ("".join(f"{x:8d}" for x in (own, 1)), "".join(f"{x:8d}" for x in row))
            groups["*ELEMENT_SOLID"] += both
        else:
            full = [*row[:3], *row[3:4] * 5] if kind == "tet4" else collapsed(kind, row)
            groups["*ELEMENT_SOLID"] += ["".join(f"{x:8d}" for x in (own, 1, *full))]
    for name, rows in groups.items():
        lines += [name, *rows] if rows else []
    lines += ["*PART", "the solid", f"{1:10d}{1:10d}{1:10d}", "*PART", "plate", "2,2,1"]
    lines += ["*SECTION_SOLID", f"{1:10d}{1:10d}", "*SECTION_SHELL", f"{2:10d}{2:10d}"]
    lines += [f"{THICK:10.3f}" * 4, "*MAT_ELASTIC_TITLE", "steel"]
    return "\n".join([*lines, f"{1:10d}{RHO:10.3E}{E:10.1f}{NU:10.3f}", extra, "*END", ""])


def febio(nodes, elements, extra=""):
    """File of version 4.0."""
    kinds = {"wedge6": "penta6", "wedge15": "penta15", "pyramid5": "pyra5", "pyramid13": "pyra13"}
    lines = ['<?xml version="1.0"?>', '<febio_spec version="4.0">', "<Material>"]
    lines += ['<material id="1" name="steel" type="neo-Hookean">', f"<density>{RHO}</density>"]
    lines += [f"<E>{E}</E><v>{NU}</v></material>", "</Material>", "<Mesh>", '<Nodes name="all">']
    lines += [
        f'<node id="{number(k)}">{x!r},{y!r},{z!r}</node>'
        for k, (x, y, z) in enumerate(nodes.tolist())
    ]
    lines += ["</Nodes>"]
    domains = []
    for kind, rows in itertools.groupby(numbered(elements), key=lambda each: each[0]):
        lines += [f'<Elements type="{kinds.get(kind, kind)}" name="part {kind}">']
        lines += [f'<elem id="{own}">{",".join(map(str, row))}</elem>' for _, own, row in rows]
        lines += ["</Elements>"]
        tag = "ShellDomain" if kind in SHELLS else "SolidDomain"
        inside = f"<shell_thickness>{THICK}</shell_thickness>" if kind in SHELLS else ""
        domains += [f'<{tag} name="part {kind}" mat="steel">{inside}</{tag}>']
    lines += [extra, "</Mesh>", "<MeshDomains>", *domains, "</MeshDomains>", "</febio_spec>", ""]
    return "\n".join(lines)


UNIVERSAL = {  # descriptor, and places of the nodes in the order of the file
    "tet4": (111, range(4)),
    "wedge6": (112, range(6)),
    "hex8": (115, range(8)),
    "tet10": (118, [0, 4, 1, 5, 2, 6, 7, 8, 9, 3]),
    "wedge15": (113, [0, 6, 1, 7, 2, 8, 12, 13, 14, 3, 9, 4, 10, 5, 11]),
    "hex20": (116, [0, 8, 1, 9, 2, 10, 3, 11, 16, 17, 18, 19, 4, 12, 5, 13, 6, 14, 7, 15]),
    "tri3": (91, range(3)),
    "quad4": (94, range(4)),
    "tri6": (92, [0, 3, 1, 4, 2, 5]),
    "quad8": (95, [0, 4, 1, 5, 2, 6, 3, 7]),
}


def universal(nodes, elements, extra=""):
    """Universal file in mm, with forces in N."""
    lines = ["    -1", "   164", f"{9:10d}{'millimetres':20s}{2:10d}"]
    lines += ["    1.0000000000000000D+03    1.0000000000000000D+00    1.0000000000000000D+00"]
    lines += ["    2.7314999999999998D+02", "    -1", "    -1", "  2411"]
    for k, point in enumerate(nodes.tolist()):
        lines += [f"{number(k):10d}{1:10d}{1:10d}{11:10d}"]
        lines += ["".join(f"{x:25.16E}".replace("E", "D") for x in point)]
    lines += ["    -1", "    -1", "  2412"]
    for kind, own, row in numbered(elements):
        descriptor, order = UNIVERSAL[kind]
        lines += ["".join(f"{x:10d}" for x in (own, descriptor, 1, 1, 7, len(row)))]
        full = [row[k] for k in order]
        lines += ["".join(f"{x:10d}" for x in full[k : k + 8]) for k in range(0, len(full), 8)]
    return "\n".join([*lines, "    -1", extra, ""])


def salome(path, nodes, elements, groups=None):
    """MED file, whose volumes have the mirrored node order; groups: numbers of elements by name."""
    names = {
        "tet4": ("TE4", [0, 2, 1, 3]),
        "hex8": ("HE8", [0, 3, 2, 1, 4, 7, 6, 5]),
        "wedge6": ("PE6", [0, 2, 1, 3, 5, 4]),
        "tet10": ("T10", [0, 2, 1, 3, 6, 5, 4, 7, 9, 8]),
        "quad4": ("QU4", range(4)),
        "tri3": ("TR3", range(3)),
        "quad8": ("QU8", range(8)),
        "tri6": ("TR6", range(6)),
    }
    with h5py.File(path, "w") as file:
        step = file.create_group("ENS_MAA/part/step")
        step["NOE/COO"] = nodes.T.ravel()
        step["NOE/NUM"] = np.array([number(k) for k in range(len(nodes))])
        first = 11
        for kind, table in elements.items():
            own, order = names[kind]
            rows = np.asarray(table)[:, list(order)]
            step[f"MAI/{own}/NOD"] = rows.T.ravel() + 1
            ids = np.arange(first, first + len(rows))
            step[f"MAI/{own}/NUM"] = ids
            family = np.zeros(len(rows), int)
            for k, members in enumerate((groups or {}).values(), 1):
                family[np.isin(ids, members)] = -k
            step[f"MAI/{own}/FAM"] = family
            first += len(rows)
        for k, name in enumerate(groups or {}, 1):
            each = file.create_group(f"FAS/part/ELEME/FAM_-{k}")
            each.attrs["NUM"] = -k
            each["GRO/NOM"] = np.frombuffer(name.encode().ljust(80, b"\0"), np.int8)[None]

"""Mesh files by hand that several tests read."""

import struct

import numpy as np

from preprocess.mesh.structured import box_mesh

# Abaqus: a brick, and an assembly of two of them
BRICK = """*NODE
1, 0., 0., 0.
2, 1., 0., 0.
3, 1., 1., 0.
4, 0., 1., 0.
5, 0., 0., 1.
6, 1., 0., 1.
7, 1., 1., 1.
8, 0., 1., 1.
*ELEMENT, TYPE=C3D8, ELSET=brick
1, 1, 2, 3, 4, 5, 6, 7, 8
*NSET, NSET=base, GENERATE
1, 4, 1
*SURFACE, NAME=top
brick, S2
"""
ASSEMBLY = """*HEADING
*PART, NAME=Block
{part}*END PART
*ASSEMBLY, NAME=whole
*INSTANCE, NAME=A, PART=block
*END INSTANCE
*INSTANCE, NAME=B, PART=Block
0., 0., 1.
0., 0., 0., 0., 0., 1., 90.
*END INSTANCE
*NSET, NSET=picked, INSTANCE=B
base, 8
*NSET, NSET=both
A.base, B.5
*ELSET, ELSET=upper, INSTANCE=B
1
*SURFACE, NAME=roof
upper, S2
*END ASSEMBLY
*TIE, NAME=glue
roof, roof
"""
ONE_INSTANCE = """*PART, NAME=Block
{part}*END PART
*ASSEMBLY, NAME=whole
*INSTANCE, NAME=Block-1, PART=Block
*END INSTANCE
*NODE, NSET=reference
1, 5., 5., 5.
*ELEMENT, TYPE=MASS, ELSET=weight
1, 1
*MASS, ELSET=weight
2.5
*NSET, NSET=point
1,
*NSET, NSET=picked, INSTANCE=Block-1
1, 8
*ELSET, ELSET=inside, INSTANCE=Block-1
1
*SURFACE, NAME=skin
inside
*SURFACE, NAME=ends
inside, S1
*SURFACE, NAME=both, COMBINE=UNION
ends, Block-1.top
*END ASSEMBLY
"""

# Nastran: a cube in all field formats with sets and unsupported content
NASTRAN = """SOL 103
SET 5 = 1, 2,
        5 THRU 6
SET 9 = 1
SET 3 = ALL
CEND
BEGIN BULK
GRID           1       0     0.0     0.0     0.0
GRID,2,,1.+0,.0,0.
GRID    3               1.0     10.0-1  0.0
GRID*                  4                             0.0             1.0
*                    0.0
GRID    5       8       0.      0.      1.
GRID    6       9       1.      0.      0.
GRID    7       9       1.41421445.     0.
GRID    8       9       1.      90.     0.
CORD2R  8       0       0.      0.      0.      0.      0.      1.
        1.      0.      0.
CORD2C  9       8       0.      0.      1.      0.      0.      2.
+       1.      0.      1.
CHEXA   1       4       1       2       3       4       5       6       +A
+A      7       8
CQUAD4  20      6       5       6       7       8
SPC1    3       123     1       THRU    4
SPC     3       5       1       0.0     6       2       0.0
SET1,8,1,THRU,3,8
SET3,10,GRID,2,THRU,4
SET3,11,ELEM,1
SET3,12,PROP,4
RBE2    30      1       123456  5       6       7       8
RBE3    31              1       123456  1.0     123     5       6
        7       1.0     123     8
CONM2   32      1               1.5
ENDDATA
"""


def pyramids_nastran():
    """A unit cube of six pyramids of second order with their apex in its middle."""
    box = box_mesh((1.0, 1.0, 1.0), (1, 1, 1), "pyramid13")
    lines = [
        "BEGIN BULK",
        *(f"GRID,{n},,{x},{y},{z}" for n, (x, y, z) in enumerate(box.nodes.tolist(), 1)),
    ]
    for number, row in enumerate((box.blocks["pyramid13"].connectivity + 1).tolist(), 1):
        lines += [
            f"CPYRAM,{number},7,{','.join(map(str, row[:6]))}",
            f",{','.join(map(str, row[6:]))}",
        ]
    return "\n".join([*lines, "PSOLID,7,1", "ENDDATA", ""])


# Gmsh 4.1: two tetrahedra, entities in several groups, parametric nodes, sparse numbers
GMSH_NODES = [(10, 0, 0, 0), (20, 1, 0, 0), (30, 0, 1, 0), (40, 0, 0, 1), (50, 1, 1, 1)]
GMSH_NAMES = '$PhysicalNames\n3\n2 5 "foot"\n3 1 "body"\n3 2 "upper half"\n$EndPhysicalNames\n'

GMSH_TEXT = (
    "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
    + GMSH_NAMES
    + """$Entities
1 0 1 2
7 0 0 0 0
3 0 0 0 1 1 0 1 5 0
1 0 0 0 1 1 1 1 1 1 3
2 0 0 0 1 1 1 2 1 2 1 3
$EndEntities
$Nodes
2 5 10 50
2 3 1 3
10
20
30
0 0 0 0.1 0.2
1 0 0 0.3 0.4
0 1 0 0.5 0.6
3 1 0 2
40
50
0 0 1
1 1 1
$EndNodes
$Elements
3 3 1 9
2 3 2 1
1 10 20 30
3 1 4 1
5 10 20 30 40
3 2 4 1
9 20 30 40 50
$EndElements
"""
)


def gmsh_binary():
    """The same in binary."""

    def section(name, *parts):
        return b"$" + name + b"\n" + b"".join(parts) + b"\n$End" + name + b"\n"

    def surface_or_volume(tag, groups, boundary):
        return struct.pack("<i6dQ", tag, *[0.0] * 3, *[1.0] * 3, len(groups)) + struct.pack(
            f"<{len(groups)}iQ{len(boundary)}i", *groups, len(boundary), *boundary
        )

    entities = struct.pack("<4Q", 1, 0, 1, 2) + struct.pack("<i3dQ", 7, 0, 0, 0, 0)
    entities += (
        surface_or_volume(3, [5], [])
        + surface_or_volume(1, [1], [3])
        + surface_or_volume(2, [1, 2], [3])
    )
    nodes = (
        struct.pack("<4Q", 2, 5, 10, 50)
        + struct.pack("<3iQ", 2, 3, 1, 3)
        + struct.pack("<3Q", 10, 20, 30)
    )
    nodes += struct.pack("<15d", 0, 0, 0, 0.1, 0.2, 1, 0, 0, 0.3, 0.4, 0, 1, 0, 0.5, 0.6)
    nodes += struct.pack("<3iQ", 3, 1, 0, 2) + struct.pack("<2Q6d", 40, 50, 0, 0, 1, 1, 1, 1)
    elements = struct.pack("<4Q", 3, 3, 1, 9) + struct.pack("<3iQ4Q", 2, 3, 2, 1, 1, 10, 20, 30)
    elements += struct.pack("<3iQ5Q", 3, 1, 4, 1, 5, 10, 20, 30, 40) + struct.pack(
        "<3iQ5Q", 3, 2, 4, 1, 9, 20, 30, 40, 50
    )
    head = b"$MeshFormat\n4.1 1 8\n" + struct.pack("<i", 1) + b"\n$EndMeshFormat\n"
    return (
        head
        + GMSH_NAMES.encode()
        + section(b"Entities", entities)
        + section(b"Nodes", nodes)
        + section(b"Elements", elements)
    )


def gmsh_text_partitioned():
    """The same in two partitions: the elements are in entities of their own, which are parts of the
    surface and the volumes.
    """
    entities = """$PartitionedEntities
2
1
9 2
1 0 1 2
8 0 7 1 1 0 0 0 0
13 2 3 1 1 0 0 0 1 1 0 1 5 0
11 3 1 1 1 0 0 0 1 1 1 1 1 1 13
12 3 2 2 1 2 0 0 0 1 1 1 2 1 2 1 13
$EndPartitionedEntities
"""
    text = GMSH_TEXT.replace("$Nodes\n", entities + "$Nodes\n")
    for old, new in (
        ("2 3 2 1\n", "2 13 2 1\n"),
        ("3 1 4 1\n", "3 11 4 1\n"),
        ("3 2 4 1\n", "3 12 4 1\n"),
    ):
        assert old in text
        text = text.replace(old, new)
    return text.encode()


def gmsh_binary_partitioned():
    """The same in two partitions, in binary."""

    def surface_or_volume(tag, parent, partitions, groups):
        head = struct.pack(f"<3iQ{len(partitions)}i", tag, *parent, len(partitions), *partitions)
        return head + struct.pack(
            f"<6dQ{len(groups)}iQi", *[0.0] * 3, *[1.0] * 3, len(groups), *groups, 1, 13
        )

    entities = struct.pack("<2Q2i4Q", 2, 1, 9, 2, 1, 0, 1, 2) + struct.pack(
        "<3iQi3dQ", 8, 0, 7, 1, 1, 0, 0, 0, 0
    )
    entities += surface_or_volume(13, (2, 3), [1], [5]) + surface_or_volume(11, (3, 1), [1], [1])
    entities += surface_or_volume(12, (3, 2), [1, 2], [1, 2])
    data = gmsh_binary()
    for old, new in (((2, 3, 2), (2, 13, 2)), ((3, 1, 4), (3, 11, 4)), ((3, 2, 4), (3, 12, 4))):
        assert data.count(struct.pack("<3iQ", *old, 1)) == 1
        data = data.replace(struct.pack("<3iQ", *old, 1), struct.pack("<3iQ", *new, 1))
    return data.replace(
        b"$Nodes\n", b"$PartitionedEntities\n" + entities + b"\n$EndPartitionedEntities\n$Nodes\n"
    )


# A sheet of shells with a boom of two bars at its end, and a point before its root.
N, M = 4, 3  # shells along and across
SHEET = np.array([(0.05 * i, 0.02 * j, 0.0) for i in range(N + 1) for j in range(M + 1)])
CELLS = np.array(
    [
        (i * (M + 1) + j, (i + 1) * (M + 1) + j, (i + 1) * (M + 1) + j + 1, i * (M + 1) + j + 1)
        for i in range(N)
        for j in range(M)
    ]
)
ROOT, END = np.arange(M + 1), N * (M + 1) + np.arange(M + 1)
BOOM = np.array([(0.2, 0.03, 0.0), (0.3, 0.03, 0.0), (0.4, 0.03, 0.05)])
HOLD = (-0.03, 0.03, 0.0)
MORE = len(SHEET) + np.arange(4)  # of the boom and the point before the sheet
POINTS = np.vstack([SHEET, BOOM, [HOLD]])


def sheet_and_boom_nastran(scale=1000.0, extra="", bar="PBARL,8,1,,BAR\n,8.0,12.0"):
    """Nastran deck in mm: shells, bars and their properties,
    RBE2 to the boom, RBE3 to the point.
    """
    lines = ["BEGIN BULK"]
    lines += [
        f"GRID,{n + 1},,{x * scale:.6g},{y * scale:.6g},{z * scale:.6g}"
        for n, (x, y, z) in enumerate(POINTS)
    ]
    lines += [f"CQUAD4,{k + 1},7,{','.join(map(str, row + 1))}" for k, row in enumerate(CELLS)]
    lines += [f"CBAR,{101 + k},8,{MORE[k] + 1},{MORE[k + 1] + 1},0.,0.,1." for k in range(2)]
    lines += ["PSHELL,7,1,2.0,1,,1", bar, "MAT1,1,2.1+5,,.3,7.85-9"]
    lines += [f"RBE2,30,{MORE[0] + 1},123456,{','.join(map(str, END + 1))}"]
    a, b, c, d = ROOT + 1
    lines += [f"RBE3,31,,{MORE[3] + 1},123456,1.,123456,{a},\n,{d},2.,123456,{b},{c}"]
    return "\n".join([*lines, extra, "ENDDATA", ""])


def sheet_and_boom_abaqus(kinds=("S4", "B31"), extra=""):
    """Abaqus deck in m: shells and beams."""
    lines = ["*NODE", *(f"{n + 1}, {x}, {y}, {z}" for n, (x, y, z) in enumerate(POINTS[: MORE[3]]))]
    lines += [
        f"*ELEMENT, TYPE={kinds[0]}, ELSET=sheet",
        *(f"{k + 1}, {', '.join(map(str, row + 1))}" for k, row in enumerate(CELLS)),
    ]
    lines += [
        f"*ELEMENT, TYPE={kinds[1]}, ELSET=boom",
        *(f"{101 + k}, {MORE[k] + 1}, {MORE[k + 1] + 1}" for k in range(2)),
    ]
    lines += [
        "*NSET, NSET=end",
        ", ".join(map(str, END + 1)),
        "*NSET, NSET=start",
        str(MORE[0] + 1),
        "*NSET, NSET=root",
        ", ".join(map(str, ROOT + 1)),
    ]
    return "\n".join([*lines, extra, ""])


def every_keyword_abaqus():
    """Abaqus deck in m with every keyword of sections, materials and connections: two bricks tied
    to each other; on the first a laminated quad8 and a quad4 of variable thickness, a curved mast,
    a rod and a stay; a mass, a spring, spiders, equations."""
    return """*HEADING
everything
*NODE, NSET=all
1, 0, 0, 0
2, 1, 0, 0
3, 1, 1, 0
4, 0, 1, 0
5, 0, 0, 1
6, 1, 0, 1
7, 1, 1, 1
8, 0, 1, 1
11, 1, 0.1, 0.1
12, 2, 0.1, 0.1
13, 2, 0.9, 0.1
14, 1, 0.9, 0.1
15, 1, 0.1, 0.9
16, 2, 0.1, 0.9
17, 2, 0.9, 0.9
18, 1, 0.9, 0.9
21, 0.5, 0, 1
22, 1, 0.5, 1
23, 0.5, 1, 1
24, 0, 0.5, 1
31, 0, 0, 2
32, 1, 0, 2
41, 2.5, 0.5, 0.5
42, 3, 0.6, 0.5
43, 2.75, 0.52, 0.5
44, 3.5, 0.6, 0.5
45, 3.5, 0.6, 1.5
51, -0.5, 0.5, 0.5
52, 2, 0.5, 3
*ELEMENT, TYPE=C3D8, ELSET=bricks
1, 1, 2, 3, 4, 5, 6, 7, 8
2, 11, 12, 13, 14, 15, 16, 17, 18
*ELEMENT, TYPE=S8R, ELSET=plate
3, 5, 6, 7, 8, 21, 22, 23, 24
*ELEMENT, TYPE=S4, ELSET=flap
4, 5, 6, 32, 31
*ELEMENT, TYPE=B32R, ELSET=mast
5, 41, 43, 42
*ELEMENT, TYPE=B31, ELSET=rod
6, 42, 44
*ELEMENT, TYPE=T3D2, ELSET=stay
7, 44, 45
*ELEMENT, TYPE=SPRINGA, ELSET=coil
8, 45, 7
*ELEMENT, TYPE=MASS, ELSET=weight
9, 44
*ELEMENT, TYPE=DASHPOTA, ELSET=damper
10, 45, 7
*ELEMENT, TYPE=DCOUP3D, ELSET=mean
11, 51
*NSET, NSET=left
1, 4, 5, 8
*NSET, NSET=ring
12, 13, 16, 17
*NSET, NSET=lip
31, 32
*SURFACE, NAME=out
1, S4
*SURFACE, NAME=near
2, S6
*SURFACE, NAME=far
2, S4
*MATERIAL, NAME=Steel
*ELASTIC
2.1e11, 0.3
*PLASTIC
3e8, 0.
*DENSITY
7850.,
*MATERIAL, NAME=Carbon
*ELASTIC, TYPE=ENGINEERING CONSTANTS
1.35e11, 1e10, 1e10, 0.3, 0.3, 0.4, 5e9, 5e9
3.5e9
*DENSITY
1600.
*ORIENTATION, NAME=OR1
1., 0., 0., 0., 1., 0.
*SOLID SECTION, ELSET=bricks, MATERIAL=steel
*SHELL SECTION, ELSET=plate, COMPOSITE, ORIENTATION=OR1
0.01, , Carbon
0.01, , Carbon
*SHELL SECTION, ELSET=flap, MATERIAL=Steel, NODAL THICKNESS
0.01
*NODAL THICKNESS
lip, 0.005
5, 0.02
*BEAM GENERAL SECTION, ELSET=mast, MATERIAL=Steel, SECTION=PIPE
0.05, 0.01
0., 0., 1.
*BEAM SECTION, ELSET=rod, MATERIAL=Steel, SECTION=RECT, OFFSET1=0.5
0.02, 0.03
0., 0., 1.
*SOLID SECTION, ELSET=stay, MATERIAL=Steel
1e-4
*SPRING, ELSET=coil, NONLINEAR
0., 0.
1000., 0.001
*MASS, ELSET=weight
12.
*DASHPOT, ELSET=damper

5.
*TIE, NAME=weld, POSITION TOLERANCE=0.01
near, out
*COUPLING, REF NODE=41, SURFACE=far, CONSTRAINT NAME=foot
*DISTRIBUTING
*DISTRIBUTING COUPLING, ELSET=mean
left, 1.
*RIGID BODY, NSET=lip, REF NODE=52
*MPC
PLANE, 1, 2, 3, 4
*EQUATION
3
22, 3, 2.0, 6, 3, -1.0
7, 3, -1.0
*CONTACT PAIR, INTERACTION=SI
near, out
*BOUNDARY
1, 1, 3
*STEP
*FREQUENCY
5
*END STEP
"""


def every_shape_abaqus():
    """Abaqus deck in m: bars of all shapes in a row in a local system, first axes by nodes and
    normals, shells with an offset and normals."""
    shapes = {
        "I": "0.011, 0.03, 0.02, 0.01, 0.003, 0.002, 0.001",
        "L": "0.03, 0.02, 0.002, 0.003",
        "HEX": "0.02, 0.001",
        "BOX": "0.03, 0.02, 0.004, 0.001, 0.002, 0.003",
        "ARBITRARY": "2, 0.02, 0., 0., 0., 0.002\n0., 0.03, 0.004",
        "PIPE": "0.02, 0.001",
        "RECT": "0.02",
        "CIRC": "0.02, 0.03",
    }
    n = len(shapes)
    lines = ["*SYSTEM", "0.1, 0., 0., 0.1, 1., 0.", "0.1, 0., 1.", "*NODE, NSET=row"]
    lines += [f"{k + 1}, {0.1 * k}, 0., {0.01 * k**2}" for k in range(n + 2)] + [
        "90, 0.3, 0.2, 0.1"
    ]
    lines += [
        "*SYSTEM",
        "*NODE, SYSTEM=C",
        "31, 1., 10., 0., 0., 0., 1.",
        "32, 1., 30., 0.",
        "33, 2., 30., 0.",
        "34, 2., 10., 0.",
    ]
    for k, shape in enumerate(shapes):
        lines += [
            f"*ELEMENT, TYPE=B31, ELSET=bar{shape}",
            f"{k + 1}, {k + 1}, {k + 2}" + (", 90" if k == 2 else ""),
        ]
    lines += ["*ELEMENT, TYPE=B31, ELSET=general", f"{n + 1}, {n + 1}, {n + 2}"]
    lines += [
        "*ELEMENT, TYPE=S4, ELSET=plate",
        "50, 31, 34, 33, 32",
        "*MATERIAL, NAME=steel",
        "*ELASTIC",
        "2.1e11, 0.3",
        "*DENSITY",
        "7850.",
    ]
    for shape, dimensions in shapes.items():
        lines += [
            f"*BEAM SECTION, ELSET=bar{shape}, MATERIAL=steel, SECTION={shape}",
            dimensions,
            "0.1, 0.2, -1.",
        ]
    lines += [
        "*BEAM GENERAL SECTION, ELSET=general, DENSITY=7850.",
        "3e-4, 1e-8, 0., 3e-8, 2e-8",
        "1., 0., 0.",
        "2.1e11, 8e10",
    ]
    lines += [
        "*SHELL SECTION, ELSET=plate, MATERIAL=steel, OFFSET=SPOS",
        "0.01",
        "*NORMAL",
        "plate, 32, 0.01, 0., 1.",
    ]
    lines += ["3, 3, 0.3, 1., 0.1", "3, 4, 0.3, 1., 0.1"]
    return "\n".join([*lines, "*STEP", "*END STEP", ""])


def every_card_nastran():
    """Nastran deck in mm: a laminated plate, beams at its edge, a rod, bushings, springs, an
    equation, a mass, materials.
    """
    return EVERY_CARD.format(more="")


def every_end_nastran():
    """The same with bars of arms, hinges and orientations by a grid and by defaults, tubes,
    displacement systems, a rigid bar.
    """
    return EVERY_CARD.format(more=MORE_CARDS)


MORE_CARDS = """GRDSET,,,,,,,
GRID,21,31,400.,30.,0.,32
GRID,22,31,400.,60.,50.,31
GRID,23,,350.,250.,90.
GRID,24,,380.,150.,10.,33
GRID,25,,340.,160.,20.,30
CORD1R,30,1,2,3,34,1,3,4
CORD1C,31,1,2,3
CORD2S,32,,0.,0.,0.,0.,0.,1.
,1.,0.,0.
CORD2C,33,30,0.,0.,0.,0.,0.,1.
,1.,0.,0.
BAROR,,11,,,0.,0.,1.,BGG
CBAR,31,,14,21
,,456,1.,2.,3.,4.,5.,6.
CBAR,32,11,21,22,23
,5
CBEAM,33,12,22,23,1.,2.,3.,GGG
,56,,0.,0.,1.,0.,0.,1.
CTUBE,34,13,21,23
CONROD,35,22,24,1,20.,30.,,1.-6
RBAR,36,14,25,123456
RBE2,37,23,13,24
CELAS2,38,100.,23,5,14,5
CONM2,39,24,33,0.001,1.,2.,3.
,1.,0.1,1.,0.,0.,1.
PBARL,11,1,,HAT
,30.,2.,20.,9.,1.-6
PBEAML,12,1,,Z
,9.,4.,26.,30.
PTUBE,13,1,10.,1.
PLOTEL,40,1,2
"""
EVERY_CARD = """SOL 103
CEND
MPC = 6
BEGIN BULK
GRID,1,,0.,0.,0.
GRID,2,,200.,0.,0.
GRID,3,,200.,100.,0.
GRID,4,,0.,100.,0.
GRID,5,,100.,0.,0.
GRID,6,,200.,50.,0.
GRID,7,,100.,100.,0.
GRID,8,,0.,50.,0.
GRID,11,,200.,0.,0.
GRID,12,,300.,100.,0.
GRID,13,,300.,150.,0.
GRID,14,,350.,150.,0.
CQUAD8,1,1,1,2,3,4,5,6
,7,8,,,,,20
CTRIA3,2,1,2,12,3,20
CORD2R,20,,0.,0.,0.,0.,0.,1.
,0.,1.,0.
PCOMP,1,2.0,,,,,,SYM
,8,1.0,0.,,8,2.0,45.
CBEAM,3,2,11,12,0.,0.,1.
PBEAM,2,1,96.0,1152.0,512.0,,1200.0
,,,,,,,,
,,0.8
CROD,4,3,4,12
PROD,3,1,50.0
CBUSH,5,4,12,13,,,,20
CBUSH,6,4,13,14,0.,1.,0.
PBUSH,4,K,1000.,2000.,3000.,4.+4,5.+4,6.+4
,B,1.,2.,3.,4.+3,5.+3,6.+3
CELAS2,7,500.,12,1,3,1
CELAS1,8,9,11,6,2,6
PELAS,9,7.+3
CDAMP2,10,0.5,12,1,3,1
CDAMP1,11,9,11,6,2,6
PDAMP,9,7.0,8,3.0
CVISC,12,9,4,12
PVISC,9,0.2
MPCADD,6,1
MPC,2,5,1,1.0,1,1,-1.0
MPC,1,5,3,2.0,1,3,-1.0
,,2,3,-1.0
CONM2,9,14,,0.002,10.,0.,20.
,2.0,0.1,3.0,,,4.0
{more}MAT1,1,2.1+5,,.3,7.85-9
MAT8,8,1.35+5,1.+4,.3,5000.,4000.,3000.,1.6-9
,,,,1500.,1200.,50.,200.,70.
ENDDATA
"""


def plane_deck(kind, cells, size, corner=(0.0, 0.0), section="0.02"):
    """Abaqus deck in m of a steel rectangle of plane or axisymmetric elements, two triangles or one
    quadrilateral to a cell; node sets left, right, bottom, top."""
    step = 2 if kind[3] in "68" else 1
    counts = step * np.array(cells)
    numbers: dict[tuple[int, ...], int] = {}
    rows = []
    for cell in np.ndindex(*cells):
        square = step * (np.array(cell) + [(0, 0), (1, 0), (1, 1), (0, 1)])
        for polygon in [square] if kind[3] in "48" else [square[[0, 1, 2]], square[[0, 2, 3]]]:
            middle = (polygon + np.roll(polygon, -1, axis=0)) // 2
            places = [*polygon, *middle] if step == 2 else polygon
            rows.append([numbers.setdefault(tuple(each), len(numbers) + 1) for each in places])
    places = np.array(list(numbers))
    lines = ["*NODE, NSET=all"]
    lines += [
        f"{k}, {x!r}, {y!r}"
        for k, (x, y) in enumerate((corner + places * size / counts).tolist(), 1)
    ]
    lines += [f"*ELEMENT, TYPE={kind}, ELSET=sheet"]
    lines += [f"{k}, {', '.join(map(str, row))}" for k, row in enumerate(rows, 1)]
    ends = {"left": (0, 0), "right": (0, counts[0]), "bottom": (1, 0), "top": (1, counts[1])}
    for name, (axis, end) in ends.items():
        lines += [f"*NSET, NSET={name}"]
        lines += [f"{number}," for place, number in numbers.items() if place[axis] == end]
    lines += ["*MATERIAL, NAME=steel", "*ELASTIC", "2.1e11, 0.3", "*DENSITY", "7850."]
    lines += ["*SOLID SECTION, ELSET=sheet, MATERIAL=steel", *([section] if section else [])]
    return "\n".join([*lines, ""])

"""CAD files: faces with their geometry, and meshes of curved tetrahedra.

Netgen reads the files and makes the meshes, in a process of its own (`preprocess.cad.netgen`).
"""

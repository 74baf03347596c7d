"""Readers of mesh files: Gmsh, Abaqus and CalculiX, Nastran, MED, VTU."""

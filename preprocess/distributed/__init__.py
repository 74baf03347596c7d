"""Reduction in several processes under MPI.

Decomposition of the mesh, products, factors and modes by PETSc, MUMPS and SLEPc.
"""

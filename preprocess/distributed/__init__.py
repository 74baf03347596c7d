"""One reduction in several processes under MPI: parts of the mesh, products, factors and modes by
PETSc, MUMPS and SLEPc.
"""

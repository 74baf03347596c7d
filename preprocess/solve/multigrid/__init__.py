"""Two-grid method for stiff compact solids of second-order elements.

The linear elements within the second-order ones are the coarse grid.

    x := S b,    e = P (Pᵀ K P)⁻¹ Pᵀ (b − K x),    x := x + e,    x := x + Sᵀ (b − K x)

P gives the nodes within edges, faces and volumes the values of the linear functions of the corners;
a seventh of the nodes of tetrahedra are corners, and their factor takes a hundredth of the time of
that of all nodes. S are steps of Chebyshev's iteration with the diagonal blocks D of K, for the
eigenvalues of D⁻¹K in the upper part of their range. The cycle, symmetric and positive definite, is
a response A in single precision, which conjugate gradients refine to double precision
(`refinement`). If linear elements lock, in thin walls or near incompressibility, A K has small
eigenvalues, which the coefficients of the iteration reveal; a direct factor is then used.

Source: Rønquist, Patera, J. Sci. Comput. 2 (1987) 389 (orders of elements as grids); Adams,
Brezina, Hu, Tuminaro, J. Comput. Phys. 188 (2003) 593 (Chebyshev's iteration as smoother).
"""

from preprocess.solve.multigrid.factor import Multigrid

__all__ = ["Multigrid"]

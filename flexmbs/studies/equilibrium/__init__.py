"""Equilibria, and eigenvalues along branches of equilibria."""

"""Diagnosis of the compiled system.

Degrees of freedom, rank, redundant constraints, singular positions.
"""

"""Diagnosis of the compiled system: degrees of freedom, rank, redundant constraints, singular
positions.
"""

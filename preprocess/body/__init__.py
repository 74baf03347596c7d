"""Reduction of a part to a flexible body.

Reference conditions, modes, shape integrals, geometric stiffness and stress modes; `reduce`.
"""

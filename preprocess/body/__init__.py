"""Flexible body: reference conditions, modes, shape integrals, geometric stiffness, stress modes;
and `reduce`.
"""

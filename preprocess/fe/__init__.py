"""The finite-element model: materials, assembly of stiffness and mass, interfaces, attached masses,
element stress.
"""

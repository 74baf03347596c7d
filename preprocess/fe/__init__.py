"""The finite-element model of a part.

Materials, assembly of stiffness and mass, interfaces, attached masses and element stress.
"""

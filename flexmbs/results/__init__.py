"""Data and views of a run, and their file.

States at output times, motions, forces, stresses and energies.
"""

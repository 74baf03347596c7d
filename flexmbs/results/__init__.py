"""Data and views of a run: states at output times, motions, forces, stresses, energies, and their
file.
"""

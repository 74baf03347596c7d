"""Data and views of a run: states at output times, motions, forces, stresses and energies, and
their file."""

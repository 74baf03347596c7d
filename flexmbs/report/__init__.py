"""Figures, page and tables of a solution."""

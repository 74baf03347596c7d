"""Coupling with other programs: control loops, functional mock-up units, environments."""

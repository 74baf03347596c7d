"""Time loops: an integrator over a formalism."""

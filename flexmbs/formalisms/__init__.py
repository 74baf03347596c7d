"""Formalisms: ways to combine the terms of the equations of motion."""

from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.multiplier import Multiplier
from flexmbs.formalisms.recursive import Recursive

FORMALISMS: dict[str, type[Formalism]] = {Multiplier.name: Multiplier, Recursive.name: Recursive}

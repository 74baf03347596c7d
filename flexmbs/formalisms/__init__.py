"""Formalisms: ways to combine the terms of the equations of motion."""

from flexmbs.formalisms.embedding import Embedding
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.multiplier import Multiplier
from flexmbs.formalisms.partitioning import Partitioning
from flexmbs.formalisms.recursive import Recursive

FORMALISMS: dict[str, type[Formalism]] = {form.name: form for form in (Multiplier, Embedding, Partitioning, Recursive)}

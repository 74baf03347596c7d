"""Formalisms: ways to combine the terms of M ṡ = k + Gᵀ λ, G ṡ = γ.

Theory: docs/theory.md, sections 27 to 36.
"""

from flexmbs.formalisms.embedding import Embedding
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.multiplier import Multiplier
from flexmbs.formalisms.partitioning import Partitioning
from flexmbs.formalisms.recursive import Recursive

FORMALISMS: dict[str, type[Formalism]] = {
    form.name: form for form in (Multiplier, Embedding, Partitioning, Recursive)
}

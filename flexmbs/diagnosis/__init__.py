"""What the compiled system shows of a model: degrees of freedom, rank, redundant constraints, singular positions."""

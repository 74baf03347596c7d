"""Solutions for other programs: data frames, labelled arrays, MAT-files, VTKHDF."""

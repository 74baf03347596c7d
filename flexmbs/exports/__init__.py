"""Export of solutions to other programs: data frames, labelled arrays, MAT-files, VTKHDF."""

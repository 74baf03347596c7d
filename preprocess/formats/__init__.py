"""Files of other programs: importers of matrices and reduced bodies, exporters of reduced bodies."""

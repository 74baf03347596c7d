"""Files of other programs: importers of matrices and bodies, exporters of bodies."""

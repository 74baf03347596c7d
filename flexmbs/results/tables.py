"""Tables as text: CSV with safe headings and all digits."""

import csv
import io
from collections.abc import Sequence

import numpy as np

from flexmbs.files.output import spreadsheet_cell
from flexmbs.results.views import FloatArray

Column = tuple[str, FloatArray]


def table_text(columns: Sequence[Column]) -> str:
    """CSV text (RFC 4180) of columns by heading.

    Headings are safe for spreadsheets, numbers have full precision.
    """
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_MINIMAL, lineterminator="\r\n")
    writer.writerow([spreadsheet_cell(heading) for heading, _ in columns])
    writer.writerows(np.column_stack([values for _, values in columns]).tolist())
    return text.getvalue()

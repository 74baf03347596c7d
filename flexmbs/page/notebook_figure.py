"""Figures that notebooks display by themselves, without ``%matplotlib inline``."""

import io

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """Figure of matplotlib with an image for notebooks."""

    def _repr_png_(self) -> bytes:
        """PNG image of the figure."""
        image = io.BytesIO()
        self.savefig(image, format="png", bbox_inches="tight")
        return image.getvalue()

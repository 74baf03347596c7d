"""`Model`: the user's declarations, with file access and checks."""

from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs.checked_arguments import checked_arguments
from flexmbs.files.paths import file_path
from flexmbs.model.check import CheckReport
from flexmbs.model.model import ModelData
from flexmbs.model.toml_read import read

if TYPE_CHECKING:
    from flexmbs.report.view import View


@checked_arguments
class Model(ModelData):
    __doc__ = ModelData.__doc__

    def check(self) -> CheckReport:
        """Report of the model's contents, degrees of freedom, loops and problems; never raises."""
        from flexmbs.diagnosis.diagnosis import check  # imported on demand: compiled kernels

        return check(self)

    def show(self, *, browser: bool | None = None) -> "View":
        """Show the model at its start in three dimensions.

        A notebook displays the page; elsewhere, or with ``browser``, it opens in a browser. If the
        loops do not close, the declared positions are shown. Raises InputError.
        """
        from flexmbs.report.model_at_start import model_view
        from flexmbs.report.view import shown

        return shown(model_view(self), browser)

    def _repr_html_(self) -> str:
        """Card of the model in a notebook."""
        from flexmbs.report.cards import model_card

        return model_card(self)


def load(path: str | Path, *, allow_outside: bool = False, allow_code: bool = False) -> Model:
    """Model of a TOML file; options and errors as of `flexmbs.load`, which reads other files too."""
    return read(file_path(path), Model, allow_outside=allow_outside, allow_code=allow_code)

"""Warning class of the preprocessor."""


class PreprocessWarning(UserWarning):
    """Valid input that is probably not intended.

    Examples
    --------
    >>> import warnings
    >>> import preprocess as pp
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", pp.PreprocessWarning)
    ...     pp.Isotropic(E=210.0, nu=0.3, rho=7850.0)  # in GPa
    Traceback (most recent call last):
    ...
    preprocess.inputs.warning.PreprocessWarning: material: sqrt(E/rho) = 0.164 m/s is not a wave speed of solids; ...
    """

"""Guard of other packages' readers: output is suppressed, exceptions become one InputError."""

import contextlib
import io
import warnings
from collections.abc import Iterator

from flexmbs.errors import InputError, MachineError

LONGEST = 200  # number of characters shown of another program's message


def error_summary(error: BaseException, printed: str = "") -> str:
    """Type of an error and the first line of its message, or of the captured output."""
    said = str(error).strip() or printed.strip()
    return (
        f"{type(error).__name__}: {said.splitlines()[0][:LONGEST]}"
        if said
        else type(error).__name__
    )


@contextlib.contextmanager
def guarded(complaint: str, remedy: str = "") -> Iterator[None]:
    """Context that suppresses the output of another package's reader.

    Its exceptions become an InputError: complaint (reason); remedy.
    """
    noise = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(noise),
            contextlib.redirect_stderr(noise),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    except (InputError, MachineError):
        raise
    except MemoryError as error:
        raise InputError(f"{complaint}: it claims more data than fits in memory") from error
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{complaint} ({error_summary(error, noise.getvalue())}){remedy and '; ' + remedy}"
        ) from error

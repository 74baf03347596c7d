"""Checks of zip archives of unknown origin before they are unpacked."""

import os
import re
import zipfile
from xml.parsers import expat

from flexmbs.errors import InputError
from flexmbs.files.inputs import open_regular

MOST_FILES, MOST_BYTES, MOST_XML = 10_000, 2 * 10**9, 10**8
# largest ratio of unpacked to packed size, checked above this number of bytes (zip bombs)
RATIO, PLAIN = 200, 10**8
OUTSIDE = re.compile(r"^[/\\]|^[A-Za-z]:|(^|[/\\])\.\.([/\\]|$)")


def check_archive(path: str | os.PathLike[str], description: str) -> None:
    """Raise InputError for an archive that is too large or unsafe.

    It must not have names outside its folder, and its XML file ``description`` no document type.
    Raises as `zipfile` for a file that is not an archive.
    """
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        size, packed = (
            sum(sizes)
            for sizes in zip(*((each.file_size, each.compress_size) for each in entries), (0, 0))
        )
        if len(entries) > MOST_FILES or size > min(MOST_BYTES, max(PLAIN, RATIO * packed)):
            raise InputError(
                f"{path}: {len(entries)} files of {size / 1e6:.0f} MB, packed "
                f"{packed / 1e6:.1f} MB; reduce them"
            )
        for name in (each.filename for each in entries):
            if OUTSIDE.search(name):
                raise InputError(
                    f"{path}: contains '{name}', which is outside its folder; correct the name"
                )
        if archive.getinfo(description).file_size > MOST_XML:
            raise InputError(
                f"{path}: its {description} has more than {MOST_XML / 1e6:.0f} MB; reduce it"
            )
        content = archive.read(description)

    def refuse(*_: object) -> None:
        """Raise `InputError` for a document type in an XML file."""
        raise InputError(
            f"{path}: its {description} declares a document type (DTD); entities are not "
            "read: remove <!DOCTYPE …>"
        )

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(content, True)

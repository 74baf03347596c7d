"""Damaged and hostile files of every kind that the program reads: each is read, or refused by the
errors of the package with one line for each problem.

    python reports/survival/mutants.py [--mutants 10000] [--seed 1]   -> mutants.json, PASS or FAIL
    python reports/survival/mutants.py --seed 1 --only "part" 17      one of them, with traceback

A mutant is a sound file of a kind (`originals.py`) after one to three changes, drawn from seed,
kind and number: flipped bits; stretches removed, doubled, replaced, exchanged; an early end; numbers at
the limits, and words in place of others; names of 300 characters; deep nesting; bytes that are no
UTF-8. In HDF5 files and logs also the content changes, behind correct checksums. What can be read
is used: checked, run for two steps, shown as a page.

Mutants are examined in processes of their own, so that crashes are counted, as are hangs: more than
10 s of processor time. A mutant that takes longer is repeated, because kernels may have been
compiled the first time.
"""

import argparse
import contextlib
import json
import os
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

HERE = Path(__file__).parent
SECONDS, FIRST_SECONDS = 10, 120  # of processor time: usual, with compilation
SILENCE = 300  # s without a sign of life, by the clock: waits for ever
MEMORY = 8 << 30  # bytes of address space: a file that claims more is refused
LONGEST = 2000  # characters of a line of an error
BATCH = 500  # mutants of a process
UNCLEAR = {chr(c) for c in (*range(32), *range(127, 160), 0x2028, 0x2029)}  # controls, line ends
GOOD = ("read", "refused")
COUNTED = (*GOOD, "raw exceptions", "unclear refusals", "results not finite", "hangs", "crashes")

LIMITS = [
    "1e308", "-1e308", "5e-324", "1e26", "-1e26", "9e18", "1e200", "1e-200", "1e400", "nan", "inf", "-inf", "0", "-0.0", "-1",
    "0.5", "2147483648", "-2147483649", "65537", "99999999999999999999", "9" * 400, "1e-60", "1e60", "1e16",
]  # fmt: skip
WORDS = [
    b"a" * 300, b"", b"-", b"*", b"THRU", b",", b"\n", b"true", b'""', b"[]", b"{}", b"..", b"/dev/zero", b"\xff\xfe", b"\0",
    b"\xc3\xa9", b"\xe2\x80\xa8", b"\x1b[31m", b"%s", b"{0}", b"<!--", b"&amp;", b"'", b'"', b"[" * 3000, b"<a>" * 3000,
    b"{'a':" * 3000, "ſ".encode(), "²".encode(), "٣".encode(),
]  # fmt: skip
PATTERNS = [struct.pack("<d", x) for x in (float("nan"), float("inf"), 1e308, -1e26, 5e-324, 0.0)]
PATTERNS += [struct.pack("<q", n) for n in (-1, 0, 2**31, 2**63 - 1, 10**9)]
PATTERNS += [struct.pack("<i", n) for n in (-1, 0, 1, 2**31 - 1, 65537)] + [
    b"\xff" * 16,
    b"\0" * 16,
]
FACTORS = (-1.0, 0.0, 0.5, 2.0, 10.0, -1e3, 1e3, 1e6, 1e-3, 1e-6, 1e9, 1.0 + 1e-12)
LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-")
DIGITS = frozenset(b"0123456789")


def tokens(data: bytes, *, numbers: bool) -> list[tuple[int, int]]:
    """Begin and end of the words of a text, or of those that are numbers."""
    found, start = [], -1
    for at, byte in enumerate(data + b" "):
        if byte in LETTERS:
            start = at if start < 0 else start
        elif start >= 0:
            if not numbers or (data[start] in b"0123456789.+-" and DIGITS & set(data[start:at])):
                found.append((start, at))
            start = -1
    return found


VALUES = ("number", "number", "scale", "scale", "name")  # changes that mostly keep the syntax
ANY = (
    "number",
    "scale",
    "name",
    "line",
    "word",
    "word",
    "insert",
    "flip",
    "cut",
    "double",
    "exchange",
    "end",
    "replace",
)
OF_BINARY = ("pattern", "pattern", "pattern", "flip", "cut", "double", "exchange", "end", "replace")


def of_one_key(data: bytes, places: list[tuple[int, int]], draw: Random) -> list[tuple[int, int]]:
    """Places on lines that begin with one word, so that long tables of numbers do not get all
    changes; all places for one of four."""
    keys: dict[bytes, list[tuple[int, int]]] = {}
    for a, b in places:
        start = data.rfind(b"\n", 0, a) + 1
        keys.setdefault(data[start : start + 6].strip(b" -+.0123456789"), []).append((a, b))
    return keys[draw.choice(sorted(keys))] if draw.random() < 0.75 else places


def scaled(word: bytes, factor: float) -> bytes:
    """A number times a factor, as an integer if it is one; other words as they are."""
    with contextlib.suppress(ValueError, OverflowError):
        number = float(word)
        return (str(int(number * factor)) if word.isdigit() else repr(number * factor)).encode()
    return word


def changed(data: bytes, draw: Random, kinds: tuple[str, ...]) -> bytes:
    """The bytes after one change of these kinds; binary files have their own."""
    kind = draw.choice(kinds if b"\0" not in data else OF_BINARY)
    a = draw.randrange(len(data) + 1)
    b = min(len(data), a + draw.choice((1, 2, 8, 40, 400)))
    match kind:
        case "flip" if a < len(data):
            return data[:a] + bytes([data[a] ^ 1 << draw.randrange(8)]) + data[a + 1 :]
        case "cut":
            return data[:a] + data[b:]
        case "double":
            return data[:b] + data[a:b] + data[b:]
        case "exchange":
            c = draw.randrange(b, len(data) + 1)
            return data[:a] + data[b:c] + data[a:b] + data[c:]
        case "end":
            return data[:a]
        case "replace":
            return data[:a] + draw.randbytes(b - a) + data[b:]
        case "line":
            lines = data.split(b"\n")
            i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
            lines[i] = draw.choice((lines[j], b"", lines[i] + b"\n" + lines[i]))
            return b"\n".join(lines)
        case "pattern":
            pattern = draw.choice(PATTERNS)
            a -= a % draw.choice((1, 4, 8))
            return data[:a] + pattern + data[a + len(pattern) :]
        case "insert":
            return data[:a] + draw.choice(WORDS) + data[a:]
        case "number" | "scale" | "word" | "name":
            places = tokens(data, numbers=kind in ("number", "scale")) or [(a, b)]
            a, b = draw.choice(of_one_key(data, places, draw))
            word = draw.choice(LIMITS).encode() if kind == "number" else draw.choice(WORDS)
            if kind == "scale":
                word = scaled(data[a:b], draw.choice(FACTORS))
            if kind == "name":
                c, d = draw.choice(places)
                word = data[c:d]
            return data[:a] + word + data[b:]
    return data


def changed_bytes(path: Path, draw: Random) -> None:
    """One to three changes of a file."""
    data, kinds = path.read_bytes(), draw.choice((VALUES, VALUES, ANY))
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        data = changed(data, draw, kinds)
    path.write_bytes(data)


def changed_frames(path: Path, draw: Random) -> None:
    """Changes of the content of one frame of a log, behind a correct checksum."""
    from flexmbs.files.append_log import frame_bytes, frames

    contents = [bytes(frame.content) for frame in frames(path)]
    k = draw.choice((0, draw.randrange(len(contents))))
    contents[k] = changed(contents[k], draw, draw.choice((VALUES, ANY)))
    path.write_bytes(b"".join(map(frame_bytes, contents)))


def changed_hdf5(path: Path, draw: Random) -> None:
    """Changes of data sets, in one of three mutants of a text, and of attributes, without
    checksums."""
    import h5py
    from hdf5_edits import open_unverified

    from flexmbs.files.hdf5 import items

    with open_unverified(path) as file:
        for _ in range(draw.choice((1, 1, 2))):
            found = [name for name, item in items(file) if isinstance(item, h5py.Dataset)]
            texts = [name for name in found if file[name].dtype.kind == "u"]
            name = draw.choice(sorted(texts if texts and draw.random() < 0.3 else found))
            owner = draw.choice([file, file[name].parent])
            if draw.random() < 0.8:
                _set_values(file, name, draw)
            elif draw.random() < 0.5 and len(owner.attrs):
                values = (float(draw.choice(LIMITS[:14])), b"x" * 300, b"", [1.0, 2.0], 7)
                owner.attrs[draw.choice(sorted(owner.attrs))] = draw.choice(values)
            else:
                _replace(file, name, draw)


def changed_npz(path: Path, draw: Random) -> None:
    """Changes of arrays in an archive, behind a correct checksum."""
    import numpy as np

    with np.load(path) as found:
        arrays = {name: found[name] for name in found.files}
    for _ in range(draw.choice((1, 1, 2))):
        name = draw.choice(sorted(arrays))
        if draw.random() < 0.8 and arrays[name].dtype.kind in "fiu":
            _set_values(arrays, name, draw)
        else:
            _replace(arrays, name, draw)
        if not arrays:
            break
    np.savez(path, allow_pickle=False, **arrays)


def _set_values(file: Any, name: str, draw: Random) -> None:
    """One number of a data set, or all of them, at a limit or scaled; a text after a change."""
    import numpy as np

    values = np.array(file[name][()])
    flat = values.reshape(-1)
    place = (
        slice(None) if draw.random() < 0.3 else slice(at := draw.randrange(flat.size or 1), at + 1)
    )
    match values.dtype.kind:
        case "u":
            text = changed(values.tobytes(), draw, draw.choice((VALUES, ANY)))
            del file[name]
            file[name] = np.frombuffer(text, np.uint8)
            return
        case "S":
            flat[place] = draw.choice((b"x", b"", b"a" * 300))
        case "i":
            flat[place] = draw.choice((-1, 0, 2**31, 2**62, 3))
        case _ if draw.random() < 0.5:
            flat[place] *= draw.choice(FACTORS)
        case _:
            flat[place] = float(draw.choice(LIMITS))
    file[name][...] = flat.reshape(values.shape)


def _replace(file: Any, name: str, draw: Random) -> None:
    """A data set of another shape, type or name, or none."""
    values = file[name][()]
    flat = values.reshape(-1)
    shapes = (flat, flat[:-1], flat[:0], flat.reshape(1, -1), flat.reshape(-1, 1))
    kinds = ("S2", "S9") if values.dtype.kind == "S" else ("f4", "i4", "u1", "S8")
    types = tuple(values.astype(kind) for kind in kinds)
    del file[name]
    if draw.random() < 0.8:
        other = draw.choice((name, name, f"{name}x", f"{name} /y"))
        file[other] = draw.choice((*shapes, *types, values))


FORMS: dict[str, Callable[[Path, Random], None]] = {
    "bytes": changed_bytes,
    "hdf5": changed_hdf5,
    "frames": changed_frames,
    "npz": changed_npz,
}


class Place:
    """A folder for the originals of a process and one mutant."""

    def __init__(self, folder: Path, seed: int) -> None:
        from originals import ORIGINALS

        self.folder, self.seed, self.originals = folder, seed, ORIGINALS
        self.writers = [original.write for original in ORIGINALS.values()]

    def mutant(self, kind: str, number: int) -> tuple[Callable[[], None], Path]:
        """What is done with a mutant, and its file."""
        original, draw = self.originals[kind], Random(f"{self.seed} {kind} {number}")
        sample = draw.randrange(original.samples)
        sound = self.folder / f"{self.writers.index(original.write)}-{sample}"
        if not sound.exists():
            draft = Path(tempfile.mkdtemp(dir=self.folder))
            # durations in files would change the places of what follows
            with mock.patch("time.perf_counter", return_value=0.0):
                (draft / ".name").write_text(original.write(draft, sample))
            draft.rename(sound)
        folder = self.folder / "mutant"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(sound, folder)
        name = (folder / ".name").read_text()
        (folder / ".name").unlink()
        FORMS[original.form](folder / name, draw)

        def use() -> None:
            # whoever changes the content behind checksums also writes the digests of bodies
            digests = mock.patch("flexmbs.flexible_body.file._check_digest")
            with digests if original.form == "hdf5" else contextlib.nullcontext():
                original.use(folder, name)

        return use, folder / name


def outcome(use: Callable[[], None]) -> tuple[str, str]:
    """What comes of a mutant, one of `COUNTED`, and a text about it."""
    from originals import NotFinite

    from flexmbs.errors import FlexmbsError, InputError

    try:
        use()
    except NotFinite as error:
        return "results not finite", str(error)
    except FlexmbsError as error:
        lines = error.problems if isinstance(error, InputError) else (str(error),)
        clear = lines and all(
            0 < len(line) <= LONGEST and not UNCLEAR & set(line) for line in lines
        )
        return ("refused" if clear else "unclear refusals"), f"{type(error).__name__}: {lines!r}"[
            :600
        ]
    except BaseException as error:
        frames = [
            f for f in traceback.extract_tb(error.__traceback__) if "/tests/" not in f.filename
        ]
        own = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames[-6:]]
        return (
            "raw exceptions",
            f"{type(error).__name__}: {str(error)[:200]} at {' < '.join(reversed(own))}",
        )
    return "read", ""


Job = tuple[str, int]  # kind and number


def work(jobs: list[Job], folder: Path, seed: int, *, patient: bool) -> None:
    """Examine mutants; tell each begin and each outcome in a line. Processor time beyond the limit
    ends the process by a signal."""
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    place = Place(folder, seed)
    for number, job in enumerate(jobs):
        for seconds in (FIRST_SECONDS, SECONDS) if patient else (SECONDS,):
            use, _ = place.mutant(*job)
            print(json.dumps({"begin": number}), file=told)
            signal.setitimer(signal.ITIMER_PROF, seconds)
            found, text = outcome(use)
            signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps({"end": number, "outcome": found, "text": text}), file=told)


def lines_of(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """What a process tells; it is killed where it is silent."""
    assert process.stdout is not None
    rest = b""
    while select.select([process.stdout], [], [], SILENCE)[0]:
        block = os.read(process.stdout.fileno(), 65536)
        if not block:
            return
        *whole, rest = (rest + block).split(b"\n")
        yield from map(json.loads, whole)
    process.kill()


def examined(jobs: list[Job], folder: Path, seed: int) -> Iterator[tuple[Job, str, str]]:
    """Outcome and text of each mutant, in order."""
    done, patient = 0, False
    while done < len(jobs):
        now = jobs[done : done + (1 if patient else BATCH)]
        process = subprocess.Popen(
            [
                sys.executable,
                __file__,
                "--work",
                str(folder),
                "--seed",
                str(seed),
                *["--patient"] * patient,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(now).encode())
        process.stdin.close()
        begun, ended = -1, -1
        for line in lines_of(process):
            begun, ended = line.get("begin", begun), line.get("end", ended)
            if "outcome" in line:
                yield now[ended], line["outcome"], line["text"]
        status = process.wait()
        done += ended + 1
        if ended == len(now) - 1:
            patient = False
        elif begun == ended:
            raise SystemExit(
                f"{now[ended + 1]}: its original cannot be written (exit code {status})"
            )
        elif slow := status in (-signal.SIGPROF, -signal.SIGKILL) and not patient:
            patient = slow
        else:
            hang = status in (-signal.SIGPROF, -signal.SIGKILL)
            yield now[begun], "hangs" if hang else "crashes", f"exit code {status}"
            done, patient = done + 1, False


def only(kind: str, number: int, seed: int) -> None:
    """One mutant, with the traceback of what is raised; its file stays."""
    folder = Path(tempfile.mkdtemp(prefix="flexmbs-mutant-"))
    use, file = Place(folder, seed).mutant(kind, number)
    print(file, flush=True)
    warnings.simplefilter("ignore")
    with contextlib.suppress(SystemExit):
        use()


def shares(mutants: int) -> dict[str, int]:
    """Number of mutants of each kind."""
    from originals import ORIGINALS

    whole = sum(original.share for original in ORIGINALS.values())
    counts = {kind: int(mutants * each.share / whole) for kind, each in ORIGINALS.items()}
    counts[next(iter(counts))] += mutants - sum(counts.values())
    return counts


def study(mutants: int, seed: int, kinds: list[str]) -> bool:
    """All kinds; whether every mutant was read or refused."""
    counts = {kind: n for kind, n in shares(mutants).items() if not kinds or kind in kinds}
    jobs = [(kind, number) for kind, count in counts.items() for number in range(count)]
    found = {kind: {"mutants": n} | dict.fromkeys(COUNTED, 0) for kind, n in counts.items()}
    failures: list[dict[str, Any]] = []
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="flexmbs-mutants-") as folder:
        for (kind, number), what, text in examined(jobs, Path(folder), seed):
            found[kind][what] += 1
            if what not in GOOD:
                failures.append({"kind": kind, "number": number, "outcome": what, "text": text})
                print(f"    {number} {what}: {text}", flush=True)
            if number == counts[kind] - 1:
                print(
                    f"{kind:45s}" + " ".join(f"{each:6d}" for each in found[kind].values()),
                    flush=True,
                )
    total = {name: sum(each[name] for each in found.values()) for name in ("mutants", *COUNTED)}
    seconds = round(time.perf_counter() - begun)
    if not kinds:
        record = {
            "seed": seed,
            "seconds": seconds,
            "total": total,
            "kinds": found,
            "failures": failures,
        }
        (HERE / "mutants.json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps({"seconds": seconds} | total, indent=1))
    return not failures


def main() -> None:
    """Run, write, judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", default=[], help="only these kinds")
    parser.add_argument("--only", nargs=2, metavar=("KIND", "NUMBER"))
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--patient", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        jobs = [(str(kind), int(number)) for kind, number in json.load(sys.stdin)]
        work(jobs, given.work, given.seed, patient=given.patient)
    elif given.only:
        only(given.only[0], int(given.only[1]), given.seed)
    else:
        good = study(given.mutants, given.seed, given.kind)
        print("PASS" if good else "FAIL")
        raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()

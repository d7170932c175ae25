"""``motionloom convert``: convert files and folders for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from click.exceptions import Exit

from motionloom.cli.arguments import (
    check_targets,
    motion_from,
    motions_in,
    print_failure,
    print_left_out_files,
)
from motionloom.cli.command import Argument, Option
from motionloom.cli.options import DETAILS, INSPECT, JSON, check_picture
from motionloom.cli.terminal import draw_worst, print_json, print_quality, progress, remark
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.formats.settings import ConvertSettings, LoadSettings
from motionloom.motion import Motion

_ROBOT_LAYOUTS = ("lafan", "bones-seed")  # of robot CSV files that are written
# Targets of --to that are not suffixes: suffix, and the other files with the options to write them.
_TARGETS: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "humanml3d": (".npy", {"_263": {"layout": "humanml3d-263"}}),
    "amass": (".npz", {}),
    "opensim": (".trc", {}),
}

if TYPE_CHECKING:
    from motionloom.motion import Markers
    from motionloom.motion.diagnostics.quality import QualityReport


def convert(
    paths: Annotated[
        list[str],
        Argument("Files, folders or LIB:NAME, followed by the output.", metavar="IN... OUT"),
    ],
    settings: ConvertSettings,
    output: Annotated[
        Path | None,
        Option(
            "Output file or folder, instead of the last argument.", "-o --output", metavar="OUT"
        ),
    ] = None,
    details: Annotated[bool, DETAILS] = False,
    inspect: Annotated[Path | None, INSPECT] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Convert motions to another format, program or character.

    OUT is a file, or a folder if there are several motions. Files that fail are listed at the end.
    """
    if output is not None:
        paths = [*paths, str(output)]
    if inspect is not None:
        check_picture(inspect)
    if len(paths) < 2:
        raise InvalidInput("convert needs an input and an output: IN... OUT")
    from motionloom.formats import save
    from motionloom.formats.presets import convert

    jobs, failed = _jobs(paths[:-1], Path(paths[-1]), settings)
    check_targets(jobs)
    options = {out.suffix: _save_options(out, settings) for _, out in jobs}
    if settings.onto and settings.character:
        raise InvalidInput("--onto and --character cannot be combined")
    target = _target(settings)
    written: list[str] = []
    unstated: set[float] = set()  # frame rates that the written files do not contain
    made: list[Motion] = []
    reports: dict[str, QualityReport] = {}
    left_out: dict[str, str] = {}  # takes that were not converted, by file
    with progress("converting", len(jobs), quiet=json) as advance:
        for source, out in jobs:
            try:
                given = _read(source, out, settings)
                left_out |= _left_out(source, given, settings)
                motion = convert(
                    given,
                    fps=settings.fps, onto=target, clean=settings.clean, preset=settings.preset,
                    root=settings.root,
                )  # fmt: skip
                save(motion, out, **options[out.suffix])
                written.append(str(out))
                if out.suffix.lower() == ".csv" and _is_robot_file(settings, ".csv"):
                    unstated.add(float(motion.fps))
                for ending, content in _TARGETS.get(settings.to or "", ("", {}))[1].items():
                    other = out.with_name(f"{out.stem}{ending}{out.suffix}")
                    save(motion, other, **content)
                    written.append(str(other))
                report = getattr(motion, "quality", None)  # markers have no skeleton
                if target is not None and report is not None:
                    reports[str(out)] = report
                    if inspect is not None and isinstance(motion, Motion):
                        made.append(motion)
            except (MotionloomError, OSError) as error:
                if len(jobs) == 1:
                    raise
                failed.append({"file": source, "reason": str(error)})
            advance()
    if made:
        draw_worst(made, inspect)
    if json:
        quality = {out: report.to_json() for out, report in reports.items()}
        result = {"files": written, "failed": failed, "left_out": left_out}
        print_json(result | ({"quality": quality} if quality else {}))
    else:
        remark(f"wrote {written[0] if len(written) == 1 else f'{len(written)} files'}")
        for fps in sorted(unstated):
            remark(f"frame rate: {fps:g} fps, which CSV files of robots do not state")
        _print_reports(reports, details=details)
        for file, text in left_out.items():
            remark(f"warning: {file}: {text}")
        for failure in failed:
            print_failure(failure)
        print_left_out_files(path for path in paths[:-1] if Path(path).is_dir())
    if failed:
        raise Exit(1)


def _save_options(out: Path, settings: ConvertSettings) -> dict[str, Any]:
    """Return the options for writing a file, before anything is written."""
    from motionloom.formats.presets import save_options

    conventions = {"preset": settings.preset, "unit": settings.unit, "up": settings.up}
    if not _is_robot_file(settings, out.suffix.lower()):
        if settings.layout in _ROBOT_LAYOUTS:
            raise InvalidInput(
                f"--layout {settings.layout} is for robot CSV files, which need --character MODEL"
            )
        return save_options(out, **conventions)
    for name, value in conventions.items():
        if value is not None:
            raise InvalidInput(f"--{name} is not available for robot files")
    return {"layout": settings.layout} if settings.layout in _ROBOT_LAYOUTS else {}


def _is_robot_file(settings: ConvertSettings, suffix: str) -> bool:
    """Return whether the character is a robot and the suffix is that of a robot file."""
    from motionloom.formats.registry import ROBOT_SUFFIXES
    from motionloom.formats.robot import is_robot_model

    robot = settings.character is not None and is_robot_model(settings.character)
    return robot and suffix in ROBOT_SUFFIXES


def _target(settings: ConvertSettings) -> Motion | None:
    """Return a motion on the skeleton to retarget onto, if one is set."""
    roles = settings.target_roles
    if settings.character:
        from motionloom.formats.own_character import load_character

        return load_character(settings.character, roles=roles)
    if settings.onto:
        return motion_from(settings.onto, LoadSettings(roles=roles))
    if roles:
        raise InvalidInput("--target-roles needs --onto or --character")
    return None


def _left_out(source: str, motion: Motion | Markers, settings: ConvertSettings) -> dict[str, str]:
    """Return a warning, by file, if a file has takes that are not converted."""
    from motionloom.formats import takes_in

    many = any("Choose one with the option" in text for text in motion.origin.warnings)
    if settings.animation is not None or not many or not Path(source).is_file():
        return {}
    takes = [take.name for take in takes_in(source)]
    if len(takes) < 2:
        return {}
    return {
        source: f"1 of {len(takes)} takes was converted. --animation all converts all of them: "
        f"{', '.join(takes[:8])}{', ...' if len(takes) > 8 else ''}"
    }


def _print_reports(reports: dict[str, QualityReport], *, details: bool) -> None:
    """Print the report for a single file, or, for several files, the warnings by file name."""
    if len(reports) == 1:
        print_quality(*reports.values(), details=details, seed=False)
        return
    about: dict[str, list[str]] = {}
    for out, report in reports.items():
        for warning in report.warnings:
            about.setdefault(warning, []).append(Path(out).name)
    for warning, names in about.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        remark(f"warning: {names[0]}{more}: {warning}")


def _jobs(
    sources: list[str], out: Path, settings: ConvertSettings
) -> tuple[list[tuple[str, Path]], list[dict[str, str]]]:
    """Return (source, target) pairs that preserve the folder structure, and unwritable folders."""
    from motionloom.formats import FORMATS, is_stream
    from motionloom.formats.registry import instead_of

    suffix = _TARGETS[settings.to][0] if settings.to in _TARGETS else settings.to
    ending = "." + (suffix or "bvh").lstrip(".").lower()
    robot = _is_robot_file(settings, ending)
    if not robot and (ending not in FORMATS or not FORMATS[ending].writes):
        suffixes = ", ".join(s.lstrip(".") for s, f in FORMATS.items() if f.writes)
        names = ", ".join(_TARGETS)
        raise InvalidInput(f"--to must be one of {suffixes}, {names}; got {suffix!r}")
    given, failed = [], []
    for source in sources:
        if Path(source).is_dir():
            motions, unwritable = motions_in(Path(source), exclude=out)
            given += motions
            failed += unwritable
        else:
            given.append((source, _stem(source)))
    inputs = []
    for source, stem in given:
        try:
            inputs += _takes(source, stem) if settings.animation == "all" else [(source, stem)]
        except (MotionloomError, OSError) as error:
            if len(given) == 1:
                raise
            failed.append({"file": source, "reason": str(error)})
    if not inputs:
        raise InvalidInput(f"no motions in {', '.join(sources)}")
    written = out.suffix.lower()
    writable = written in FORMATS or _is_robot_file(settings, written)
    if is_stream(out) or (writable and not out.is_dir()):
        if len(inputs) > 1:
            raise InvalidInput(
                f"{len(inputs)} motions cannot be written to one file; OUT must be a folder"
            )
        if settings.to and not is_stream(out) and written != ending:
            raise InvalidInput(
                f"--to {settings.to} writes {ending} files, but the output is {out.name}"
            )
        return [(inputs[0][0], out)], failed
    if out.suffix and not out.is_dir() and suffix is None:
        # A name such as `walk.blend` probably means a file, not a folder.
        suffixes = ", ".join(s for s, f in FORMATS.items() if f.writes)
        way = instead_of(out) or ". If it is a folder, create it first or use --to"
        raise InvalidInput(f"cannot write {out}: the suffix must be one of {suffixes}{way}")
    return [(source, out / f"{stem}{ending}") for source, stem in inputs], failed


def _takes(source: str, stem: str) -> list[tuple[str, str]]:
    """Return the address and the output name of every take of a file."""
    from motionloom.formats import takes_in

    names = [take.name for take in takes_in(source)]
    return [(f"{source}/{name}", f"{stem}/{name}") if name else (source, stem) for name in names]


def _stem(source: str) -> str:
    """Return the output name for a file, a library motion, or a segment of either."""
    if Path(source).exists():
        return Path(source).stem
    from motionloom.motion.segment import split_segment

    whole, cut = split_segment(source)
    name = Path(whole).stem if Path(whole).exists() else whole.split(":", 1)[-1]
    return name if cut is None else f"{name}_{source.rsplit(':', 1)[-1]}"


def _read(source: str, out: Path, settings: ConvertSettings) -> Motion | Markers:
    """Read the motion to convert. If only the format changes, all joints are kept.

    Markers stay markers if the output can hold them, unless a layout is given.
    """
    from motionloom.formats import FORMATS, holds_motion, is_marker_file, load_markers, split_take
    from motionloom.motion.segment import split_segment

    given: dict[str, Any] = {} if settings.from_unit is None else {"unit": settings.from_unit}
    if settings.layout is not None and settings.layout not in _ROBOT_LAYOUTS:
        given["layout"] = settings.layout
    elif is_marker_file(Path(source)):
        keeps = "markers" in FORMATS[out.suffix.lower()].writes
        changes = settings.onto or settings.character or settings.clean or settings.preset
        if (keeps and not changes) or not holds_motion(Path(source)):
            return load_markers(source, **given)
    is_file = split_take(Path(split_segment(source)[0]))[0].is_file() or Path(source).is_file()
    changed = (settings.preset, settings.onto, settings.character, settings.clean, settings.root)
    same_body = not any(changed)
    animation = None if settings.animation == "all" else settings.animation
    if is_file and _is_robot_file(settings, Path(source).suffix.lower()):
        given["skeleton"] = settings.character
    return motion_from(
        source,
        LoadSettings(
            roles=settings.roles, keep_carrier=is_file and same_body, animation=animation, **given
        ),
    )

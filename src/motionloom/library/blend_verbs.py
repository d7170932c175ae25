"""Verbs of a library that blend: blends, parametric motions, reconstruction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from motionloom.library.family_verbs import FamilyVerbs

if TYPE_CHECKING:
    from motionloom.blending import Blend
    from motionloom.features import FeatureSet, FrameDistance
    from motionloom.motion import Motion, Skeleton
    from motionloom.motion.markers import Markers
    from motionloom.parallel import Progress
    from motionloom.parametric.parametric_motion import ParametricMotion
    from motionloom.reconstruction import Reconstruction
    from motionloom.search import Family


class BlendVerbs(FamilyVerbs):
    """Verbs that make one motion from many: blends, parametric motions, reconstruction."""

    def blend(
        self,
        family: Family | str,
        *,
        query: Motion | None = None,
        skeleton: Skeleton | None = None,
        fps: float | None = None,
        distance: str | FrameDistance = "pc11",
        leave_out_unmatched: bool = False,
        leave_out_unclear: bool = False,
    ) -> Blend:
        """Weighted blends of the members of a family.

        Parameters
        ----------
        family : Family or str
            From `family`; or a query, whose family is searched first.
        query : Motion, optional
            The whole motion that the query is cut from, if it is not in the library.
        skeleton : Skeleton, optional
            Skeleton of all examples. Default: that of the query.
        fps : float, optional
            Frame rate of all examples. Default: that of the query.
        distance : str or FrameDistance
            Frame distance of the time alignments.
        leave_out_unmatched : bool
            Leave out members whose foot contacts do not match the query's, instead of raising.
        leave_out_unclear : bool
            Leave out members without a time alignment in the valid region; without it they are
            listed in ``blend.registration.unclear``.

        Returns
        -------
        blend : Blend
            ``blend(weights)`` is a `Motion`; one weight per member, summing to 1.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1):
        ...     lib.add_motion(ml.demo.clip("kick_front_high_right", performer=performer))
        >>> blend = lib.blend("kick_front_high_right_p0:5-70")
        >>> blend([0.5, 0.5])
        Motion('blend', ... frames at 30 fps = ... s, 21 joints)
        """
        from motionloom.blending import Blend, BlendSettings, register

        settings = BlendSettings.from_arguments(locals())
        found = self.family(family) if isinstance(family, str) else family
        return Blend(register(self, found, **settings.arguments()))

    def parametrize(
        self,
        family: Family | str | Sequence[str],
        by: Any,
        *,
        samples: int = 1000,
        delta: float = 0.1,
        spacing: float = 0.0127,
        sampling: Literal["mixed", "nearest"] = "mixed",
        redundant: float | None = None,
        redundant_by: Literal["interpolated", "refined"] = "interpolated",
        leave_out_unmatched: bool = False,
        leave_out_unclear: bool = False,
        seed: int = 0,
        preset: Literal["kg04"] | None = None,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> ParametricMotion:
        """Learn a parametric motion: a family of motions controlled by parameters.

        Parameters
        ----------
        family : Family, str or several
            From `family`; or a query, whose family is searched first; or names of motions,
            each an example from start to end. The first is the query.
        by : Parameter, str, callable, mapping, or several
            The parameters: `motionloom.at`, those of `motionloom.parameters`, their texts
            (``right_ankle@33``, ``lowest(hips)``), any function of a motion or a reference to
            one (``MODULE:FUNCTION``), or scores per example: motion to number, or a CSV file
            (``styles.csv``, ``styles.csv:mood,age``).
        samples : int
            Random blends by which the map from parameters to blend weights is learned.
        delta : float
            How far blend weights may lie outside 0 to 1.
        spacing : float
            Least distance between two samples, in the unit of the parameters. Where it leaves
            fewer than `samples`, ``motion.space.shortfall`` says so.
        sampling : {"mixed", "nearest"}
            Examples of a sample: the nearest to a random point (nearest, as in Kovar & Gleicher
            2004), or for every other sample those around it (mixed).
        redundant : float, optional
            Drop redundant examples: those whose parameters the others reach within this
            tolerance.
        redundant_by : {"interpolated", "refined"}
            How the others reach a redundant example: by interpolating nearby ones (as in Kovar &
            Gleicher 2004), or by any blend of them.
        leave_out_unmatched : bool
            Leave out examples whose foot contacts do not match the query's, instead of raising.
        leave_out_unclear : bool
            Leave out examples without a time alignment in the valid region.
        seed : int
            Random seed for sampling.
        preset : {"kg04"}, optional
            Settings as in the paper. Arguments that differ from their defaults win.
        name : str, optional
            Store it in the library under this name; see `parametric`.
        progress : callable, optional
            Called with the number of samples since the last call.

        Returns
        -------
        motion : ParametricMotion
            ``motion(target)`` is a `Motion`; ``motion.accessible`` are parameters in reach.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1, 2):
        ...     lib.add_motion(ml.demo.clip("kick_front_mid_right", performer=performer))
        >>> family = lib.family("kick_front_mid_right_p0:0-70")
        >>> kick = lib.parametrize(family, by=ml.at("right_ankle", frame=33), samples=20)
        >>> kick(kick.accessible[-1])
        Motion('blend', ... frames at 30 fps = ... s, 21 joints)
        """
        from motionloom.blending import register
        from motionloom.parametric.artifact import save_parametric
        from motionloom.parametric.parametric_motion import parametrize as parametric_motion
        from motionloom.parametric.settings import ParametrizeSettings

        settings = ParametrizeSettings.from_arguments(locals())
        found = self.family(family) if isinstance(family, str) else family
        registration = register(
            [self[one] for one in found] if isinstance(found, Sequence) else self,
            None if isinstance(found, Sequence) else found,
            leave_out_unmatched=leave_out_unmatched,
            leave_out_unclear=leave_out_unclear,
        )
        motion = parametric_motion(registration, by, settings, name=name or "", progress=progress)
        if name is not None:
            save_parametric(self, motion, name)
        return motion

    def parametric(self, name: str, *, by: Any = None) -> ParametricMotion:
        """A parametric motion of the library, by name.

        Parameters
        ----------
        name : str
            As given to `parametrize`.
        by : optional
            The parameters again, if they are functions that cannot be imported. A function that a
            module defines is stored by reference, scores with their numbers.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1, 2):
        ...     lib.add_motion(ml.demo.clip("kick_front_mid_right", performer=performer))
        >>> ankle = ml.at("right_ankle", frame=33)
        >>> _ = lib.parametrize(lib.names, by=ankle, samples=20, name="kick")
        >>> lib.parametric_names, lib.parametric("kick").accessible.shape[1]
        (('kick',), 3)
        """
        from motionloom.parametric.artifact import open_parametric

        return open_parametric(self, name, by=by)

    def names_with(
        self,
        first: str,
        *,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
    ) -> tuple[str, ...]:
        """Names of the chosen motions, `first` before the others; examples of `parametrize`.

        Examples
        --------
        >>> lib.names_with("walk_fast", only=["walk", "walk_fast"])
        ('walk_fast', 'walk')
        """
        from motionloom.search.filters import chosen_names

        name = self.entry(first).name
        chosen = chosen_names(self, label=label, only=only, exclude=exclude)
        return (name, *(one for one in chosen if one != name))

    def reconstruct(
        self,
        markers: Markers | Motion,
        *,
        skeleton: Skeleton | Motion | str | None = None,
        roles: Mapping[str, str] | str | None = None,
        mode: Literal["offline", "online"] = "offline",
        features: str | FeatureSet = "e15",
        neighbours: int = 512,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> Reconstruction:
        """Reconstruct a whole body from a few markers, with the library's poses as prior.

        Parameters
        ----------
        markers : Markers or Motion
            At least three joints, best wrists, ankles, head and hips; gaps are NaN. Of a
            motion, those six joints are used.
        skeleton : Skeleton, Motion or str, optional
            Skeleton of the performer; a text names a motion of the library or a file. Default:
            one of the library's, scaled to the markers.
        roles : mapping or str, optional
            Role to label, or ``ROLE=LABEL,...``, where labels do not name the role.
        mode : {"offline", "online"}
            The whole sequence at once, or each frame from past frames only.
        features : str or FeatureSet
            Features by which neighbours are searched.
        neighbours : int
            Poses of a local model.
        label, only, exclude : optional
            Labels and names that choose the motions of the prior; as in `search`.
        progress : callable, optional
            Called with the number of frames done since the last call.

        Returns
        -------
        motion : Reconstruction
            A `Motion` of the performer, with ``confidence`` per frame and ``lost`` markers.

        Raises
        ------
        InvalidInput, RoleError
            If there are too few markers, their labels or unit are unknown, or the skeleton does
            not fit them.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1):
        ...     lib.add_motion(ml.demo.clip("walk", performer=performer))
        >>> walk = ml.demo.clip("walk", performer=2)
        >>> body = lib.reconstruct(walk, skeleton=walk.skeleton)
        >>> len(body) == len(walk), body.confidence.shape == (len(walk),)
        (True, True)
        """
        from motionloom.formats import load
        from motionloom.reconstruction import ReconstructSettings
        from motionloom.reconstruction import reconstruct as reconstruction_of

        if isinstance(skeleton, str):
            skeleton = (self[skeleton] if skeleton in self else load(skeleton)).skeleton
        settings = ReconstructSettings.from_arguments(locals())
        return reconstruction_of(self, markers, settings, progress=progress)

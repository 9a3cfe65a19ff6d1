"""The errors mpir raises for a user's mistake: one sentence, with the place and the remedy in it."""

from __future__ import annotations


class MpirError(Exception):
    """Anything mpir refuses to do. The message is one sentence that a user can act on."""


class InputError(MpirError, ValueError):
    """Input that is not what was expected; the message names the file and line or id, the value, and the remedy."""


class ArtefactError(MpirError):
    """An index, bundle, cache or weights file that is missing, damaged, or made by something else."""


class OutputError(MpirError):
    """A result that cannot be written; nothing is left half-written."""


class DeviceError(MpirError):
    """A device without memory for the work, or a worker process that ended; the work can be done again elsewhere."""

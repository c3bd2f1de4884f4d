"""Processes whose lifetime is a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Started(ABC):
    """Started at the beginning of a `with` block, and stopped at its end, or at once if the start fails."""

    @abstractmethod
    def start(self) -> None:
        """Returns when it can be used."""

    @abstractmethod
    def stop(self) -> None:
        """Idempotent; also allowed after a failed start."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

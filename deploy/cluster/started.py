"""What runs for as long as a `with` does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Started(ABC):
    """Started by `with`, and stopped at its end, or at once when the start fails."""

    @abstractmethod
    def start(self) -> None:
        """Returns when it can be used."""

    @abstractmethod
    def stop(self) -> None:
        """Idempotent, and right after a start that failed."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

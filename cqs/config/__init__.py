"""The settings of a server: declared in `settings`, resolved in `load`, printed by `report`."""

from cqs.config.load import Loaded, load
from cqs.config.queues import DeclaredQueue
from cqs.config.settings import Config

__all__ = ["Config", "DeclaredQueue", "Loaded", "load"]

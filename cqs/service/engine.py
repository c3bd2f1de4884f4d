"""Everything that the operations of the service work with, in one value. The operations are functions of it, one per
file:

    send · receive · delete · visibility      the life of a message
    queues · tags · permissions               the life of a queue
    move_tasks · redrive                      into the dead-letter queue and back
    residency · long_poll · revisibility      fill the cache, wake the long polls, make due messages visible

`cqs.parts` builds the engine; only `cqs.backends` knows which backends were chosen.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from cqs import limits
from cqs.cache.bells import Bells, OneNode
from cqs.cache.interface import QueueCache, Shard
from cqs.clock import Clock
from cqs.events import Witness
from cqs.ids import Addresses
from cqs.metrics.node import NodeMetrics
from cqs.queue import Queue
from cqs.receipt import Receipts
from cqs.service.background import Background
from cqs.service.cluster import Cluster, alone
from cqs.service.dirt import Dirt
from cqs.service.epochs import Epochs
from cqs.service.expiring import Expiring
from cqs.service.fellows import Fellows, NoFellows
from cqs.service.handed import Handed
from cqs.service.hints import Hints
from cqs.service.long_poll import Waiters
from cqs.service.marks import Marks
from cqs.service.move_board import MoveBoard
from cqs.service.registry import Registry
from cqs.store.interface import Store


@dataclass(frozen=True, slots=True)
class Tuning:
    """Service settings that do not belong to a queue."""

    region: str = "us-east-1"
    is_purge_wait_on: bool = True
    """A second PurgeQueue within 60 s is refused, as on AWS."""
    is_recreate_wait_on: bool = False
    """Creating a queue within 60 s of deleting one of the same name is refused, as on AWS. Off, because tests do
    that."""
    in_flight_max: int = limits.IN_FLIGHT_MAX
    is_leases_on: bool = True
    """Standard receives write leases to the store, without waiting. FIFO receives always do, and wait."""
    is_hint_on: bool = True
    """The tag `cqs:consistency-hint` is honoured; off in strict mode."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The components. All belong to one event loop."""

    clock: Clock
    rng: random.Random
    addresses: Addresses
    cache: QueueCache
    store: Store
    registry: Registry
    waiters: Waiters
    receipts: Receipts
    witness: Witness
    tuning: Tuning = Tuning()
    bells: Bells = field(default_factory=OneNode)
    cluster: Cluster = field(default_factory=alone)
    fellows: Fellows = field(default_factory=NoFellows)
    """The other workers of this server."""
    background: Background = field(default_factory=Background)
    dirt: Dirt = field(default_factory=Dirt)
    epochs: Epochs = field(default_factory=Epochs)
    expiring: Expiring = field(default_factory=Expiring)
    marks: Marks = field(default_factory=Marks)
    fallback: Handed = field(default_factory=Handed)
    hints: Hints = field(default_factory=Hints)
    moves: MoveBoard = field(default_factory=MoveBoard)
    metrics: NodeMetrics = field(default_factory=NodeMetrics)
    """Its witness receives events only if it is, or is part of, `witness`."""


def shard_of(queue: Queue) -> Shard:
    """The cache shard that holds the queue."""
    return Shard(queue.storage_id, queue.settings.is_fifo)

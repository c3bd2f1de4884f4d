"""A run with every fault, for audits that must find them all."""

from __future__ import annotations

import msgspec

from tests.spark.golden import Golden

FAULTS = {
    "timeout": 7,
    "shown": 5,
    "given_back": 4,
    "replayed": 3,
    "lost": 6,
    "expired": 2,
    "corrupted": 3,
    "resurrected": 2,
    "hidden_short": 4,
    "extended_short": 2,
    "unexpected": 3,
}


def play_everything(golden: Golden) -> None:
    """Plays the rules of FIFO queues, FAULTS in a standard queue, and every other way a message can end."""
    _fifo(golden)
    _standard(golden)
    _ends(golden)


def _standard(golden: Golden) -> None:
    rng = golden.rng
    orders = golden.queue("orders")
    messages = golden.send(orders, 200, sender="s-1")
    again = msgspec.structs.replace(messages[3], address=golden.addresses.next())
    golden.node.sent(orders, [again])
    golden.acknowledged += 1
    golden.planted["sent again"] = 1
    golden.consume(orders, again)
    golden._known.add(again.address)
    golden.runs[again.address] = "golden"
    golden.first_deliveries["orders"] = [again.address]
    faults = [name for name, count in FAULTS.items() for _ in range(count)]
    plan = [*faults, *["consume"] * (len(messages) - len(faults))]
    rng.shuffle(plan)
    for place in range(0, 190, 19):
        messages[place], messages[place + 5] = messages[place + 5], messages[place]
    for name, message in zip(plan, messages, strict=True):
        if name == "consume":
            golden.consume(orders, message)
        else:
            golden.fault(name, orders, message)
    for _ in range(9):
        golden.node.received_nothing(orders)


def _fifo(golden: Golden) -> None:
    payments = golden.queue("payments.fifo")
    plan = ["overtaken"] * 3 + ["shared"] * 2 + ["in_turn"] * 4
    golden.rng.shuffle(plan)
    for number, name in enumerate(plan):
        getattr(golden, name)(payments, f"group-{number % 3}")


def _ends(golden: Golden) -> None:
    purged, gone, source, dead = (golden.queue(name) for name in ("purged", "gone", "source", "dead"))
    golden.send(purged, 3)
    golden.node.purged(msgspec.structs.replace(purged, generation=1))
    golden.send(gone, 2)
    golden.node.queue_deleted(gone)
    for message in golden.send(source, 3):
        golden.receive(source, message)
        golden.move(source, dead, message)

package main

import (
	"errors"
)

// sender sends as fast as it gets responses, until it is stopped or the ledger has limit messages.
type sender struct {
	*load
	queues ring
	limit  uint64 // 0 = none
	out    batchOut
}

func (s *sender) next(c *client, now int64) verdict {
	count := s.batch
	if s.limit > 0 {
		count = int(min(uint64(count), s.limit-min(s.ledger.sent, s.limit)))
	}
	if s.isStopping || s.isOver(now) || count == 0 {
		return leave
	}
	s.out.ask(s.load, c, s.queues.next(), count, now)
	return ask
}

func (s *sender) answered(_ *client, body []byte, _ int64) (int, error) {
	return s.out.answered(s.load, body)
}

func (s *sender) failed(*client) {}

// pace is a schedule shared by several senders: an open loop. The latency of a late send counts from its due time.
type pace struct {
	at    int64
	every int64
}

func (p *pace) take() int64 {
	at := p.at
	p.at += p.every
	return at
}

// pacedSender sends at the times of the schedule, whether or not the server keeps up. left counts the senders that are
// not done: while a send is in progress, the number of messages to receive is not known yet.
type pacedSender struct {
	sender
	pace *pace
	due  int64
	left *int
}

func (s *pacedSender) next(c *client, now int64) verdict {
	if s.due == 0 {
		s.due = s.pace.take()
	}
	if s.due > now && !s.isStopping {
		c.wakeAt = s.due
		return nap
	}
	due := s.due
	s.due = 0
	verdict := s.sender.next(c, now)
	c.dueAt = due
	if verdict == leave {
		*s.left--
	}
	return verdict
}

// drainer receives, processes each message for a while, and deletes it. It leaves when all acknowledged messages have
// been received, or at giveUpAt. After the window it skips the processing, so that the rest is counted soon.
type drainer struct {
	*load
	queues     ring
	isLast     func() bool // whether no more messages will be sent
	processing int64       // time per message, ns
	pause      int64       // after an empty receive, ns
	hand       hand
	busyUntil  int64
}

func (d *drainer) next(c *client, now int64) verdict {
	switch {
	case d.busyUntil > now && !d.isStopping:
		c.wakeAt = d.busyUntil
		return nap
	case len(d.hand.handles) > 0:
		d.hand.askToDelete(d.load, c)
	case d.isOver(now) || d.isLast() && d.ledger.receivedCount >= d.ledger.ackedCount:
		return leave
	default:
		d.hand.askForMore(d.load, c, d.queues.next(), d.batch)
	}
	return ask
}

func (d *drainer) answered(c *client, body []byte, now int64) (int, error) {
	if c.kind == deleting {
		return d.hand.deleted(d.load, body)
	}
	count, err := d.hand.received(d.load, body, now)
	d.busyUntil = now + int64(count)*d.processing
	if count == 0 {
		d.busyUntil = now + d.pause
	}
	return count, err
}

func (d *drainer) failed(*client) { d.hand.drop() }

// cycler sends messages, receives as many, and deletes them, so that the queue keeps its length.
type cycler struct {
	*load
	queues ring
	queue  *queue
	owed   int
	out    batchOut
	hand   hand
}

func (y *cycler) next(c *client, now int64) verdict {
	switch {
	case y.isOver(now):
		return leave
	case len(y.hand.handles) > 0:
		y.hand.askToDelete(y.load, c)
	case y.owed > 0:
		y.hand.askForMore(y.load, c, y.queue, min(y.owed, y.batch))
	case y.isStopping:
		return leave
	default:
		y.queue = y.queues.next()
		y.out.ask(y.load, c, y.queue, y.batch, now)
	}
	return ask
}

func (y *cycler) answered(c *client, body []byte, now int64) (int, error) {
	switch c.kind {
	case sending:
		count, err := y.out.answered(y.load, body)
		y.owed += count
		return count, err
	case deleting:
		return y.hand.deleted(y.load, body)
	}
	count, err := y.hand.received(y.load, body, now)
	y.owed -= count
	return count, err
}

func (y *cycler) failed(c *client) {
	y.hand.drop()
	if c.kind == receiving && y.isStopping {
		y.owed = 0
	}
}

// poller long-polls queues that stay empty.
type poller struct {
	*load
	queues ring
	wait   int
}

func (p *poller) next(c *client, _ int64) verdict {
	c.kind = polling
	c.patience = int64(p.wait) * 1e9
	c.out = p.wire.receive(c.out, p.queues.next(), 1, p.wait)
	return ask
}

func (p *poller) answered(*client, []byte, int64) (int, error) { return 0, nil }
func (p *poller) failed(*client)                               {}

// creator creates the queues of the list that no other creator has taken; dropper deletes them.
type creator struct {
	*load
	queues            *[]*queue
	visibilitySeconds int
	queue             *queue
}

var errNoURL = errors.New("no QueueUrl in the answer")

func (r *creator) next(c *client, _ int64) verdict {
	if len(*r.queues) == 0 {
		return leave
	}
	r.queue, *r.queues = (*r.queues)[0], (*r.queues)[1:]
	c.kind = creating
	c.out = r.wire.create(c.out, r.queue.name, r.visibilitySeconds)
	return ask
}

func (r *creator) answered(_ *client, body []byte, _ int64) (int, error) {
	for f := r.wire.fields(body); f.next(); {
		if string(f.key) == "QueueUrl" {
			r.queue.setURL(unescapeJSON(f.value))
			return 1, nil
		}
	}
	return 0, errNoURL
}

func (r *creator) failed(*client) {}

type dropper struct {
	*load
	queues *[]*queue
}

func (d *dropper) next(c *client, _ int64) verdict {
	if len(*d.queues) == 0 {
		return leave
	}
	c.kind = dropping
	c.out = d.wire.drop(c.out, (*d.queues)[0])
	*d.queues = (*d.queues)[1:]
	return ask
}

func (d *dropper) answered(*client, []byte, int64) (int, error) { return 1, nil }
func (d *dropper) failed(*client)                               {}

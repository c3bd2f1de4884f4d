package main

import "fmt"

// load is shared by all clients of a run.
type load struct {
	wire        *wire
	ledger      *ledger
	reactor     *reactor
	batch       int
	waitSeconds int
	isStopping  bool
	giveUpAt    int64
}

func (l *load) isOver(now int64) bool { return l.giveUpAt > 0 && now >= l.giveUpAt }

// ring gives a client its queues in turn.
type ring struct {
	queues []*queue
	at     int
	stride int
}

func (r *ring) next() *queue {
	q := r.queues[r.at%len(r.queues)]
	r.at += r.stride
	return q
}

// batchOut is the range of messages of a send in progress.
type batchOut struct {
	first uint64
	count int
	at    int64
}

func (b *batchOut) ask(l *load, c *client, q *queue, count int, now int64) {
	b.first, b.count, b.at = l.ledger.reserve(count), count, now
	c.kind = sending
	c.out = l.wire.send(c.out, q, l.ledger, b.first, count, l.batch > 1, now)
}

func (b *batchOut) answered(l *load, body []byte) (int, error) {
	accepted := 0
	for f := l.wire.fields(body); f.next(); {
		if string(f.key) != "MD5OfMessageBody" || accepted == b.count {
			continue
		}
		if l.ledger.isDue() {
			text := l.ledger.appendBody(nil, b.first+uint64(accepted), b.at)
			if err := l.ledger.checkMD5(text, f.value); err != nil {
				return 0, err
			}
		}
		accepted++
	}
	if accepted != b.count {
		return 0, fmt.Errorf("%d of %d messages accepted: %s", accepted, b.count, body)
	}
	for i := range b.count {
		l.ledger.acknowledge(b.first + uint64(i))
	}
	return accepted, nil
}

// hand holds a client's receipt handles that are to be deleted. They point into the client's input buffer, which does
// not change before the delete is written.
type hand struct {
	queue   *queue
	handles [][]byte
}

func (h *hand) askForMore(l *load, c *client, q *queue, countMax int) {
	h.queue, c.kind = q, receiving
	c.patience = int64(l.waitSeconds) * 1e9
	c.out = l.wire.receive(c.out, q, countMax, l.waitSeconds)
}

func (h *hand) askToDelete(l *load, c *client) {
	c.kind = deleting
	c.out = l.wire.remove(c.out, h.queue, h.handles, l.batch > 1)
}

func (h *hand) received(l *load, body []byte, now int64) (int, error) {
	h.handles = h.handles[:0]
	var bodies, digests [10][]byte
	count, digestCount := 0, 0
	for f := l.wire.fields(body); f.next(); {
		switch string(f.key) {
		case "Body":
			bodies[min(count, 9)] = f.value
			count++
		case "MD5OfBody":
			digests[min(digestCount, 9)] = f.value
			digestCount++
		case "ReceiptHandle":
			h.handles = append(h.handles, f.value)
		}
	}
	if count != digestCount || count != len(h.handles) || count > 10 {
		return 0, fmt.Errorf("%d bodies, %d digests, %d handles", count, digestCount, len(h.handles))
	}
	for i := range count {
		sentAt, err := l.ledger.receive(bodies[i])
		if err != nil {
			return 0, err
		}
		l.reactor.tally.age.record(now - sentAt)
		if l.ledger.isDue() {
			if err := l.ledger.checkMD5(bodies[i], digests[i]); err != nil {
				return 0, err
			}
		}
	}
	return count, nil
}

// deleted checks that the response of a batch has every handle of the call, and no failure.
func (h *hand) deleted(l *load, body []byte) (int, error) {
	count := len(h.handles)
	h.handles = h.handles[:0]
	if l.batch == 1 {
		return count, nil
	}
	done := 0
	for f := l.wire.fields(body); f.next(); {
		switch string(f.key) {
		case "Id":
			done++
		case "Code":
			return 0, fmt.Errorf("delete refused: %s", body)
		}
	}
	if done != count {
		return 0, fmt.Errorf("%d of %d messages deleted: %s", done, count, body)
	}
	return count, nil
}

func (h *hand) drop() { h.handles = h.handles[:0] }

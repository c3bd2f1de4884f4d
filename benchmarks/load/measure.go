package main

import (
	"fmt"
	"math"
)

type windowEvent struct {
	Event string `json:"event"`
}

// measure runs the load with its window. Only calls that get their response within the window are counted.
func (s *session) measure() error {
	clients, err := s.workers()
	if err != nil {
		return err
	}
	for range s.pollers {
		idle := &poller{load: &s.load, queues: ring{queues: []*queue{s.empty}}, wait: s.pollWait}
		clients = append(clients, &client{behaviour: idle, isBackground: true})
	}
	s.reactor.tally = newTally()
	if s.mode == "fill" {
		s.openWindow()
		err = s.reactor.run(clients)
	} else {
		s.reactor.later(clock()+int64(s.warmUp), s.openWindow)
		err = s.reactor.run(clients)
	}
	s.closeWindow()
	return err
}

func (s *session) openWindow() {
	s.isOpen, s.openedAt = true, clock()
	s.events.Encode(windowEvent{"window_start"})
	s.reactor.tally = newTally()
	if s.mode != "fill" {
		s.reactor.later(s.openedAt+int64(s.duration), s.closeWindow)
		s.giveUpAt = s.openedAt + int64(s.duration+s.drain)
	}
}

// closeWindow keeps the tally: later calls are not counted. It may be called twice, or without a window if everything
// was done before it opened.
func (s *session) closeWindow() {
	if s.measured != nil {
		return
	}
	if !s.isOpen {
		s.openWindow()
	}
	s.closedAt = clock()
	s.events.Encode(windowEvent{"window_end"})
	s.measured = s.reactor.tally
	s.reactor.tally = newTally()
	s.isStopping = true
	s.reactor.wakeAll()
}

func (s *session) workers() ([]*client, error) {
	switch s.mode {
	case "send":
		return s.team(s.clients, func(queues ring) behaviour { return &sender{load: &s.load, queues: queues} }), nil
	case "receive":
		return s.team(s.clients, s.drainer(func() bool { return true })), nil
	case "mixed":
		return s.team(s.clients, func(queues ring) behaviour { return &cycler{load: &s.load, queues: queues} }), nil
	case "rate":
		schedule := &pace{at: clock(), every: int64(math.Round(1e9 * float64(s.load.batch) / s.rate))}
		left := s.clients
		senders := s.team(s.clients, func(queues ring) behaviour {
			return &pacedSender{sender: sender{load: &s.load, queues: queues}, pace: schedule, left: &left}
		})
		receivers := s.team(s.receivers, s.drainer(func() bool { return left == 0 }))
		return append(senders, receivers...), nil
	case "fill":
		return s.fillers(), nil
	case "idle":
		return nil, nil
	}
	return nil, fmt.Errorf("unknown -mode %q", s.mode)
}

func (s *session) drainer(isLast func() bool) func(ring) behaviour {
	return func(queues ring) behaviour {
		return &drainer{load: &s.load, queues: queues, isLast: isLast, processing: int64(s.processing), pause: int64(s.pause)}
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

const fillBatch = 10

// session is one run of the program: it creates, fills, loads, measures and deletes queues.
type session struct {
	*options
	load
	all      []*queue
	empty    *queue // where the idle pollers wait
	events   *json.Encoder
	isOpen   bool
	openedAt int64
	closedAt int64
	measured *tally // what was counted in the window
}

func run(o *options, set map[string]string, events *json.Encoder) error {
	s, err := newSession(o, events)
	if err != nil {
		return err
	}
	if err := s.createQueues(); err != nil {
		return err
	}
	if o.mode != "fill" {
		if err := s.fill(); err != nil {
			return err
		}
	}
	setUp := clock()
	if err := s.measure(); err != nil {
		return err
	}
	result := summarize(o.mode, s.measured, s.ledger, float64(s.closedAt-s.openedAt)/1e9)
	result.Flags, result.SetupSeconds = set, float64(setUp)/1e9
	if !o.isKeeping {
		if err := s.dropQueues(); err != nil {
			return err
		}
	}
	result.GeneratorSeconds = ownCPU()
	return events.Encode(result)
}

func newSession(o *options, events *json.Encoder) (*session, error) {
	target, err := url.Parse(o.endpoint)
	if err != nil {
		return nil, err
	}
	address, err := localAddress(target.Host)
	if err != nil {
		return nil, err
	}
	socket := syscall.SockaddrInet4{Port: address.Port}
	copy(socket.Addr[:], address.IP.To4())
	r, err := newReactor(socket, o.timeout)
	if err != nil {
		return nil, err
	}
	ledger := newLedger(o.size, o.verify, o.seed+time.Now().UnixNano())
	w := &wire{isQuery: o.protocol == "query", host: target.Host, fifoGroups: uint64(o.fifoGroups), run: string(ledger.run[:])}
	if o.hasSDKHead {
		w.extraHead = sdkHead
	}
	if o.isSigning {
		w.signer = &signer{accessKey: o.accessKey, secretKey: o.secretKey, region: o.region, host: target.Host}
	} else {
		w.extraHead += plainAuthorization(o.accessKey, o.region)
	}
	s := &session{options: o, events: events}
	s.load = load{wire: w, ledger: ledger, reactor: r, batch: o.batch, waitSeconds: o.wait}
	return s, nil
}

func (s *session) name(part string) string {
	name := s.prefix + "-" + s.wire.run + "-" + part
	if s.fifoGroups > 0 {
		name += ".fifo"
	}
	return name
}

func (s *session) createQueues() error {
	for i := range s.queues {
		s.all = append(s.all, &queue{name: s.name(strconv.Itoa(i))})
	}
	todo := s.all
	if s.pollers > 0 {
		s.empty = &queue{name: s.name("idle")}
		todo = append(todo[:len(todo):len(todo)], s.empty)
	}
	made := todo
	var workers []*client
	for range min(len(todo), s.setupClients) {
		workers = append(workers, &client{behaviour: &creator{load: &s.load, queues: &todo, visibilitySeconds: s.visibility}})
	}
	if err := s.reactor.run(workers); err != nil {
		return err
	}
	for _, q := range made {
		if q.url == "" {
			return fmt.Errorf("queue %s was not made: %v", q.name, s.reactor.tally.errorTexts)
		}
	}
	return nil
}

// fill sends the backlog, ten messages per call if they fit.
func (s *session) fill() error {
	if s.backlog == 0 {
		return nil
	}
	if err := s.reactor.run(s.fillers()); err != nil {
		return err
	}
	s.load.batch = s.options.batch
	if s.ledger.ackedCount < s.backlog {
		return fmt.Errorf("only %d of %d messages were accepted beforehand: %v",
			s.ledger.ackedCount, s.backlog, s.reactor.tally.errorTexts)
	}
	return nil
}

func (s *session) fillers() []*client {
	s.load.batch = min(fillBatch, 1<<20/s.size)
	return s.team(s.setupClients, func(queues ring) behaviour {
		return &sender{load: &s.load, queues: queues, limit: s.backlog}
	})
}

// team creates clients; each goes through the queues from a different start.
func (s *session) team(count int, make func(ring) behaviour) []*client {
	var clients []*client
	for i := range count {
		clients = append(clients, &client{behaviour: make(ring{queues: s.all, at: i, stride: count})})
	}
	return clients
}

func (s *session) dropQueues() error {
	s.giveUpAt = 0
	todo := s.all
	if s.empty != nil {
		todo = append(todo[:len(todo):len(todo)], s.empty)
	}
	var workers []*client
	for range s.setupClients {
		workers = append(workers, &client{behaviour: &dropper{load: &s.load, queues: &todo}})
	}
	return s.reactor.run(workers)
}

func ownCPU() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

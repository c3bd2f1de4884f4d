package main

import (
	"container/heap"
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// The reactor runs all clients on one thread with epoll: on a machine with two cores the load must not take CPU from the
// server. Sockets are non-blocking, so their calls bypass the Go scheduler. One timer descriptor, exact to the
// microsecond, serves everything that waits for a time.
type reactor struct {
	epoll    int
	timer    int
	armed    int64
	address  syscall.SockaddrInet4
	clients  []*client
	sleepers sleepers
	living   int // clients that the run waits for
	tally    *tally
	timeout  int64
	sweepAt  int64
	edges    []edge
}

// An edge is an action at a given time: the beginning and the end of the window.
type edge struct {
	at  int64
	act func()
}

const sweepEvery = int64(time.Second)

var origin = time.Now()

// clock returns monotonic nanoseconds since the program started.
func clock() int64 { return int64(time.Since(origin)) }

func newReactor(address syscall.SockaddrInet4, timeout time.Duration) (*reactor, error) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	timer, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, 1 /* CLOCK_MONOTONIC */, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil, fmt.Errorf("timerfd: %w", errno)
	}
	r := &reactor{epoll: epoll, timer: int(timer), address: address, tally: newTally(), timeout: int64(timeout)}
	return r, syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, r.timer, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: -1})
}

// run runs the clients until all except background ones have left or, with background clients only, until the last edge.
// Then it closes their connections and removes the edges.
func (r *reactor) run(clients []*client) error {
	r.clients, r.living, r.sleepers = clients, 0, nil
	for i, c := range clients {
		c.index, c.socket = i, -1
		if !c.isBackground {
			r.living++
		}
	}
	hasForeground := r.living > 0
	for _, c := range clients {
		r.step(c)
	}
	isDone := func() bool { return r.living == 0 && (hasForeground || len(r.edges) == 0) }
	var events [256]syscall.EpollEvent
	for !isDone() {
		r.passTime()
		if isDone() {
			break
		}
		r.arm()
		n, err := syscall.EpollWait(r.epoll, events[:], -1)
		if err != nil && err != syscall.EINTR {
			return fmt.Errorf("epoll: %w", err)
		}
		for _, event := range events[:max(n, 0)] {
			r.handle(event)
		}
	}
	r.edges = nil
	for _, c := range clients {
		r.disconnect(c)
	}
	return nil
}

func (r *reactor) handle(event syscall.EpollEvent) {
	if event.Fd < 0 {
		var ticks [8]byte
		syscall.Read(r.timer, ticks[:])
		r.armed = 0
		return
	}
	c := r.clients[event.Fd]
	if c.socket < 0 {
		return
	}
	if event.Events&syscall.EPOLLOUT != 0 && c.isCalling {
		r.flush(c)
	}
	if event.Events&^syscall.EPOLLOUT != 0 && c.socket >= 0 {
		r.drain(c)
	}
}

func (r *reactor) passTime() {
	now := clock()
	for len(r.edges) > 0 && r.edges[0].at <= now {
		act := r.edges[0].act
		r.edges = r.edges[1:]
		act()
	}
	for len(r.sleepers) > 0 && r.sleepers[0].wakeAt <= now {
		r.step(heap.Pop(&r.sleepers).(*client))
	}
	if now < r.sweepAt {
		return
	}
	r.sweepAt = now + sweepEvery
	for _, c := range r.clients {
		if c.isCalling && now-c.askedAt > r.timeout+c.patience {
			r.broken(c, "no answer in time", false)
		}
	}
}

// arm sets the timer to the next due time.
func (r *reactor) arm() {
	next := r.sweepAt
	if len(r.edges) > 0 {
		next = min(next, r.edges[0].at)
	}
	if len(r.sleepers) > 0 {
		next = min(next, r.sleepers[0].wakeAt)
	}
	if next == r.armed {
		return
	}
	r.armed = next
	delay := max(next-clock(), 1)
	setting := [4]int64{0, 0, delay / 1e9, delay % 1e9}
	syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, uintptr(r.timer), 0, uintptr(unsafe.Pointer(&setting)), 0, 0, 0)
}

// later adds an edge. Edges must be added in the order of their times.
func (r *reactor) later(at int64, act func()) { r.edges = append(r.edges, edge{at, act}) }

// wakeAll ends every nap, because the plan has changed.
func (r *reactor) wakeAll() {
	woken := r.sleepers
	r.sleepers = nil
	for _, c := range woken {
		r.step(c)
	}
}

// sleepers is a heap of clients, ordered by wake-up time.
type sleepers []*client

func (s sleepers) Len() int           { return len(s) }
func (s sleepers) Less(i, j int) bool { return s[i].wakeAt < s[j].wakeAt }
func (s sleepers) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *sleepers) Push(c any)        { *s = append(*s, c.(*client)) }
func (s *sleepers) Pop() any {
	last := len(*s) - 1
	c := (*s)[last]
	*s = (*s)[:last]
	return c
}

package main

import (
	"container/heap"
	"fmt"
	"syscall"
	"unsafe"
)

// A client has one connection and at most one call in progress. Its behaviour decides what it does next.
//
//	step ── ask ──> flush … drain ── answered ──> step
//	  │                       └───── broken ─────> nap, step
//	  ├── nap ──> step
//	  └── leave
type client struct {
	behaviour    behaviour
	isBackground bool // the run does not wait for it
	patience     int64

	index     int
	socket    int
	wakeAt    int64
	askedAt   int64
	dueAt     int64 // when the call was due; 0 = when it was made
	kind      kind
	isCalling bool
	isFresh   bool // no response on this connection yet
	isRepeat  bool
	hasLeft   bool
	wantsRoom bool

	out     []byte
	written int
	in      []byte
	filled  int
	reply   reply
}

// A behaviour defines what a client does repeatedly.
type behaviour interface {
	// next puts a request into c.out and its kind into c.kind, or sets when to be called again, or leaves.
	next(c *client, now int64) verdict
	// answered handles the body of a 2xx response and returns its number of messages. An error is counted, not fatal.
	answered(c *client, body []byte, now int64) (messages int, err error)
	// failed is called when a call got no usable response.
	failed(c *client)
}

type verdict uint8

const (
	ask verdict = iota
	nap         // until c.wakeAt
	leave
)

const napAfterError = int64(10e6)

func (r *reactor) step(c *client) {
	if c.hasLeft || c.isCalling {
		return
	}
	c.out, c.dueAt = c.out[:0], 0
	switch c.behaviour.next(c, clock()) {
	case ask:
		c.isCalling, c.isRepeat, c.written, c.filled = true, false, 0, 0
		c.reply.reset()
		c.askedAt = clock()
		r.flush(c)
	case nap:
		heap.Push(&r.sleepers, c)
	case leave:
		c.hasLeft = true
		r.disconnect(c)
		if !c.isBackground {
			r.living--
		}
	}
}

func (r *reactor) flush(c *client) {
	if c.socket < 0 {
		if err := r.connect(c); err != nil {
			r.broken(c, "connect: "+err.Error(), false)
			return
		}
	}
	for c.written < len(c.out) {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(c.socket), uintptr(unsafe.Pointer(&c.out[c.written])),
			uintptr(len(c.out)-c.written), syscall.MSG_NOSIGNAL, 0, 0)
		if errno == syscall.EAGAIN {
			r.watchRoom(c, true)
			return
		}
		if errno != 0 {
			r.broken(c, "write: "+errno.Error(), true)
			return
		}
		c.written += int(n)
	}
	r.watchRoom(c, false)
}

func (r *reactor) watchRoom(c *client, wants bool) {
	if c.wantsRoom == wants {
		return
	}
	c.wantsRoom = wants
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(c.index)}
	if wants {
		event.Events |= syscall.EPOLLOUT
	}
	syscall.EpollCtl(r.epoll, syscall.EPOLL_CTL_MOD, c.socket, &event)
}

func (r *reactor) drain(c *client) {
	for {
		if c.filled == len(c.in) {
			c.grow(max(8192, 2*len(c.in)))
		}
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(c.socket), uintptr(unsafe.Pointer(&c.in[c.filled])),
			uintptr(len(c.in)-c.filled))
		switch {
		case errno == syscall.EAGAIN:
			return
		case errno != 0 || n == 0 || !c.isCalling:
			r.broken(c, "the server closed the connection", true)
			return
		}
		c.filled += int(n)
		isComplete, need, err := c.reply.parse(c.in[:c.filled])
		if err != nil {
			r.broken(c, err.Error(), false)
			return
		}
		if isComplete {
			r.answered(c)
			return
		}
		if need > len(c.in) {
			c.grow(need)
		}
	}
}

func (c *client) grow(size int) {
	bigger := make([]byte, size)
	copy(bigger, c.in[:c.filled])
	c.in = bigger
}

func (r *reactor) answered(c *client) {
	now := clock()
	c.isCalling, c.isFresh = false, false
	t := r.tally
	t.bytesIn += uint64(c.filled)
	t.bytesOut += uint64(len(c.out))
	if c.reply.isClosing {
		r.disconnect(c)
	}
	if c.reply.status/100 != 2 {
		r.faulty(c, fmt.Sprintf("HTTP %d %s", c.reply.status, c.reply.body))
		return
	}
	messages, err := c.behaviour.answered(c, c.reply.body, now)
	if err != nil {
		r.faulty(c, err.Error())
		return
	}
	t.messages[c.kind] += uint64(messages)
	if c.kind == receiving && messages == 0 {
		t.emptyReceives++
	} else if c.dueAt != 0 {
		t.latency[c.kind].record(now - c.dueAt)
	} else {
		t.latency[c.kind].record(now - c.askedAt)
	}
	r.step(c)
}

// faulty counts an error and lets the client continue after a short nap.
func (r *reactor) faulty(c *client, why string) {
	r.tally.fail(c.kind, why)
	c.behaviour.failed(c)
	c.wakeAt = clock() + napAfterError
	heap.Push(&r.sleepers, c)
}

// broken handles a lost connection. A server may close an idle connection just as a request is sent: that call is
// retried once, and only the reconnect is counted.
func (r *reactor) broken(c *client, why string, mayRepeat bool) {
	wasCalling := c.isCalling
	mayRepeat = mayRepeat && !c.isFresh && !c.isRepeat && c.filled == 0
	r.disconnect(c)
	r.tally.reconnects++
	if !wasCalling {
		return
	}
	if mayRepeat {
		c.isRepeat, c.written = true, 0
		r.flush(c)
		return
	}
	c.isCalling = false
	r.faulty(c, why)
}

// connect does not block: until the connection is established, writes find no room.
func (r *reactor) connect(c *client) error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	syscall.SetsockoptInt(socket, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	if err = syscall.Connect(socket, &r.address); err != nil && err != syscall.EINPROGRESS {
		syscall.Close(socket)
		return err
	}
	c.socket, c.isFresh, c.wantsRoom = socket, true, false
	return syscall.EpollCtl(r.epoll, syscall.EPOLL_CTL_ADD, socket, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(c.index)})
}

func (r *reactor) disconnect(c *client) {
	if c.socket >= 0 {
		syscall.Close(c.socket)
		c.socket = -1
	}
}

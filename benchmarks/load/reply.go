package main

import (
	"bytes"
	"errors"
	"strconv"
)

var (
	errNotHTTP   = errors.New("not an HTTP/1.x answer")
	errUnframed  = errors.New("an answer without a length")
	endOfHead    = []byte("\r\n\r\n")
	chunkedToken = []byte("chunked")
	closeToken   = []byte("close")
)

// A reply parses one HTTP/1.x response from a growing buffer. It supports only Content-Length and chunked bodies, because
// a body that ends with the connection is of no use to a client with keep-alive connections.
type reply struct {
	status    int
	body      []byte
	isClosing bool

	bodyAt    int // 0 until the head is complete
	length    int
	isChunked bool
}

// parse parses all bytes so far. It can be called again with more bytes until the response is complete. need is the size
// that the buffer should have; 0 = not known yet.
func (r *reply) parse(buffer []byte) (isComplete bool, need int, err error) {
	if r.bodyAt == 0 {
		end := bytes.Index(buffer, endOfHead)
		if end < 0 {
			return false, 0, nil
		}
		if err := r.parseHead(buffer[:end+2]); err != nil {
			return false, 0, err
		}
		r.bodyAt = end + 4
	}
	if r.isChunked {
		body, isComplete, err := unchunk(buffer[r.bodyAt:])
		r.body = body
		return isComplete, 0, err
	}
	need = r.bodyAt + r.length
	if len(buffer) < need {
		return false, need, nil
	}
	r.body = buffer[r.bodyAt:need]
	return true, need, nil
}

func (r *reply) parseHead(head []byte) error {
	if len(head) < 14 || !bytes.HasPrefix(head, []byte("HTTP/1.")) {
		return errNotHTTP
	}
	status, err := strconv.Atoi(string(head[9:12]))
	if err != nil {
		return errNotHTTP
	}
	r.status, r.length, r.isChunked, r.isClosing = status, -1, false, head[7] == '0'
	for len(head) > 0 {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte("\r\n"))
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found {
			continue
		}
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if r.length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil || r.length < 0 {
				return errNotHTTP
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			r.isChunked = bytes.Contains(bytes.ToLower(value), chunkedToken)
		case bytes.EqualFold(name, []byte("Connection")):
			r.isClosing = bytes.Contains(bytes.ToLower(value), closeToken)
		}
	}
	if r.length < 0 && !r.isChunked {
		if status != 204 && status != 304 {
			return errUnframed
		}
		r.length = 0
	}
	return nil
}

func (r *reply) reset() { *r = reply{} }

// unchunk joins the chunks once all of them have arrived; until then it does not change the buffer.
func unchunk(buffer []byte) (body []byte, isComplete bool, err error) {
	var parts [][]byte
	for {
		line, rest, found := bytes.Cut(buffer, []byte("\r\n"))
		if !found {
			return nil, false, nil
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 31)
		if err != nil {
			return nil, false, errNotHTTP
		}
		if uint64(len(rest)) < n+2 {
			return nil, false, nil
		}
		if n == 0 {
			return bytes.Join(parts, nil), true, nil
		}
		parts = append(parts, rest[:n])
		buffer = rest[n+2:]
	}
}

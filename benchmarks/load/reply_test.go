package main

import (
	"strings"
	"testing"
)

func TestReplyIsCompleteOnlyWithItsLastByte(t *testing.T) {
	for name, text := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\ncontent-length: 11\r\nx: y\r\n\r\nhello world",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\n\r\n",
	} {
		r := reply{}
		for end := range len(text) {
			if isComplete, _, err := r.parse([]byte(text[:end])); isComplete || err != nil {
				t.Fatalf("%s: complete or broken after %d of %d bytes: %v", name, end, len(text), err)
			}
		}
		isComplete, _, err := r.parse([]byte(text))
		if !isComplete || err != nil || string(r.body) != "hello world" || r.status != 200 || r.isClosing {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
}

func TestReplyTellsTheSizeOfItsBuffer(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
	_, need, _ := (&reply{}).parse([]byte(head))
	if need != len(head)+1_000_000 {
		t.Errorf("needs %d", need)
	}
}

func TestReplyWithoutALengthOrNotHTTPIsRefused(t *testing.T) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\n\r\n", "SMTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
	} {
		if _, _, err := (&reply{}).parse([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestConnectionHeaderAndOldVersionClose(t *testing.T) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
	} {
		r := reply{}
		if isComplete, _, _ := r.parse([]byte(text)); !isComplete || !r.isClosing {
			t.Errorf("%q does not close", text)
		}
	}
}

func collect(f fields) string {
	var all []string
	for f.next() {
		all = append(all, string(f.key)+"="+string(f.value))
	}
	return strings.Join(all, " ")
}

func TestFieldsOfJSONAreItsTextMembers(t *testing.T) {
	text := `{"Messages": [{"Body" :"a\"b\\", "N":1, "L":["x","y"], "A":{"ReceiptHandle":"h=="}},{"Body":""}],"Last":`
	if got := collect(fields{rest: []byte(text)}); got != `Body=a\"b\\ ReceiptHandle=h== Body=` {
		t.Error(got)
	}
}

func TestFieldsOfXMLAreItsLeaves(t *testing.T) {
	text := `<?xml version="1.0"?><R xmlns="u"><Message><Body>a&lt;b</Body><MD5OfBody>00</MD5OfBody><E/></Message></R>`
	if got := collect(fields{rest: []byte(text), isXML: true}); got != "Body=a&lt;b MD5OfBody=00" {
		t.Error(got)
	}
}

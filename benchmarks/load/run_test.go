package main

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// standIn is a fake SQS with the JSON protocol and a single list of messages, which misbehaves on request.
type standIn struct {
	sync.Mutex
	waiting []string
	calls   int
	spoil   func(call int, action, answer string) (status int, body string)
}

type standInRequest struct {
	MessageBody         string
	Entries             []struct{ Id, MessageBody string }
	MaxNumberOfMessages int
}

func digest(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	text, _ := io.ReadAll(r.Body)
	var in standInRequest
	json.Unmarshal(text, &in)
	action := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
	status, answer := 200, s.answer(action, in, r.Host)
	s.calls++
	if s.spoil != nil {
		status, answer = s.spoil(s.calls, action, answer)
	}
	w.WriteHeader(status)
	io.WriteString(w, answer)
}

func (s *standIn) answer(action string, in standInRequest, host string) string {
	var done []string
	switch action {
	case "CreateQueue":
		return fmt.Sprintf(`{"QueueUrl":"http:\/\/%s\/0\/q"}`, host)
	case "SendMessage":
		s.waiting = append(s.waiting, in.MessageBody)
		return fmt.Sprintf(`{"MD5OfMessageBody":"%s"}`, digest(in.MessageBody))
	case "SendMessageBatch":
		for _, entry := range in.Entries {
			s.waiting = append(s.waiting, entry.MessageBody)
			done = append(done, fmt.Sprintf(`{"Id":"%s","MD5OfMessageBody":"%s"}`, entry.Id, digest(entry.MessageBody)))
		}
		return `{"Successful":[` + strings.Join(done, ",") + `]}`
	case "ReceiveMessage":
		for len(done) < in.MaxNumberOfMessages && len(s.waiting) > 0 {
			body := s.waiting[0]
			s.waiting = s.waiting[1:]
			done = append(done, fmt.Sprintf(`{"Body":"%s","MD5OfBody":"%s","ReceiptHandle":"h"}`, body, digest(body)))
		}
		return `{"Messages":[` + strings.Join(done, ",") + `]}`
	case "DeleteMessageBatch":
		for _, entry := range in.Entries {
			done = append(done, fmt.Sprintf(`{"Id":"%s"}`, entry.Id))
		}
		return `{"Successful":[` + strings.Join(done, ",") + `]}`
	}
	return "{}"
}

// play runs the program against a stand-in and returns its result and the events before it.
func play(t *testing.T, server *standIn, arguments ...string) (Result, []string) {
	t.Helper()
	listener := httptest.NewServer(server)
	defer listener.Close()
	o, set, err := parseOptions(append([]string{"-endpoint", listener.URL, "-clients", "3", "-duration", "150ms",
		"-warmup", "50ms", "-drain", "2s", "-verify", "1", "-size", "200"}, arguments...))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(o, set, json.NewEncoder(&out)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var result Result
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil {
		t.Fatal(err)
	}
	return result, lines[:len(lines)-1]
}

func TestMixedLoadGetsBackWhatItSent(t *testing.T) {
	for _, batch := range []string{"1", "10"} {
		result, events := play(t, &standIn{}, "-mode", "mixed", "-batch", batch, "-backlog", "25")
		if result.Errors != 0 || result.Waiting != 25 || result.Duplicates != 0 || result.MessagesPerS <= 0 {
			t.Errorf("batch %s: %+v", batch, result)
		}
		if len(events) != 2 || !strings.Contains(events[0], "window_start") || !strings.Contains(events[1], "window_end") {
			t.Errorf("events: %v", events)
		}
	}
}

func TestReceiveModeEndsWithTheBacklog(t *testing.T) {
	result, _ := play(t, &standIn{}, "-mode", "receive", "-backlog", "500", "-duration", "20s", "-warmup", "0s")
	if result.Waiting != 0 || result.Calls["delete"].Messages != 500 || result.Seconds > 5 {
		t.Errorf("%+v", result)
	}
}

func TestFillModeLeavesItsMessages(t *testing.T) {
	server := &standIn{}
	result, _ := play(t, server, "-mode", "fill", "-backlog", "123", "-keep")
	if len(server.waiting) != 123 || result.Acked != 123 || result.Waiting != 123 {
		t.Errorf("%d waiting, %+v", len(server.waiting), result)
	}
}

func TestRateModeKeepsToItsSchedule(t *testing.T) {
	result, _ := play(t, &standIn{}, "-mode", "rate", "-rate", "200", "-duration", "500ms")
	if sends := result.Calls["send"].Calls; sends < 90 || sends > 110 {
		t.Errorf("%d sends in half a second at 200 a second", sends)
	}
	if result.Waiting != 0 {
		t.Errorf("%d left", result.Waiting)
	}
}

func TestAReceiverPausesAfterAnEmptyAnswer(t *testing.T) {
	result, _ := play(t, &standIn{}, "-mode", "rate", "-rate", "0.1", "-receivers", "2", "-pause", "1h", "-warmup", "0s")
	if result.EmptyReceives > 2 {
		t.Errorf("%d empty receives by two receivers that pause for an hour", result.EmptyReceives)
	}
}

func TestReceiversStayForASendThatIsUnderWayAtTheEnd(t *testing.T) {
	server := &standIn{}
	server.spoil = func(_ int, action, answer string) (int, string) {
		if action == "SendMessage" {
			last := len(server.waiting) - 1
			body := server.waiting[last]
			server.waiting = server.waiting[:last]
			server.Unlock()
			time.Sleep(60 * time.Millisecond)
			server.Lock()
			server.waiting = append(server.waiting, body)
		}
		return 200, answer
	}
	result, _ := play(t, server, "-mode", "rate", "-rate", "20", "-receivers", "2", "-drain", "1s")
	if result.Acked == 0 || result.Waiting != 0 {
		t.Errorf("%d acknowledged, %d of them nobody received", result.Acked, result.Waiting)
	}
}

func TestPollersAreInNoFigure(t *testing.T) {
	result, _ := play(t, &standIn{}, "-mode", "idle", "-pollers", "2")
	if result.Seconds < 0.15 {
		t.Errorf("the window was %v s", result.Seconds)
	}
	if len(result.Calls) != 0 || result.EmptyReceives != 0 || result.Errors != 0 || result.BytesIn == 0 {
		t.Errorf("%+v", result)
	}
}

func TestErrorsAreCountedAndNamed(t *testing.T) {
	server := &standIn{spoil: func(call int, action, answer string) (int, string) {
		if action == "SendMessage" && call%5 == 0 {
			return 503, "busy"
		}
		return 200, answer
	}}
	result, _ := play(t, server, "-mode", "send")
	if result.Errors == 0 || result.ErrorTexts["send: HTTP 503 busy"] != result.Errors {
		t.Errorf("%d errors: %v", result.Errors, result.ErrorTexts)
	}
}

func TestALostAndADoubledMessageAreSeen(t *testing.T) {
	server := &standIn{}
	isLost, isDoubled := false, false
	server.spoil = func(call int, action, answer string) (int, string) {
		switch {
		case call > 20 && !isLost && action == "SendMessage":
			isLost = true
			server.waiting = server.waiting[:len(server.waiting)-1]
		case call > 60 && !isDoubled && action == "SendMessage":
			isDoubled = true
			server.waiting = append(server.waiting, server.waiting[len(server.waiting)-1])
		}
		return 200, answer
	}
	result, _ := play(t, server, "-mode", "mixed")
	if result.Waiting != 1 || result.Duplicates != 1 {
		t.Errorf("%d lost, %d twice", result.Waiting, result.Duplicates)
	}
}

func TestAWrongDigestIsAnError(t *testing.T) {
	server := &standIn{spoil: func(_ int, action, answer string) (int, string) {
		if action == "SendMessage" {
			return 200, `{"MD5OfMessageBody":"00000000000000000000000000000000"}`
		}
		return 200, answer
	}}
	result, _ := play(t, server, "-mode", "send")
	if result.Errors == 0 || result.Acked != 0 {
		t.Errorf("%+v", result)
	}
}

func TestAServerElsewhereIsRefused(t *testing.T) {
	if _, err := localAddress("192.0.2.1:9324"); err == nil {
		t.Error("a load test left this machine")
	}
}

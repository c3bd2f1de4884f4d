package main

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"time"
)

// The signatures below are botocore's for the same requests.
func TestSignatureIsTheOneThatBotocoreMakes(t *testing.T) {
	s := &signer{accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1",
		host: "127.0.0.1:9324"}
	body := []byte(`{"QueueUrl":"http://127.0.0.1:9324/000000000000/q","MessageBody":"hello"}`)
	now := time.Date(2026, 11, 27, 12, 30, 45, 0, time.UTC)

	for target, signature := range map[string]string{
		"AmazonSQS.SendMessage": "a09f658934b53b93b0899d465e0cc159cb23641117f025a74edec2788ccc9e4b",
		"":                      "95536cff18f890afda378ce36720c66f6a8951bae1de5094a0497859daf99d56",
	} {
		head := string(s.appendHeaders(nil, "/", "application/x-amz-json-1.0", target, body, now))
		if !strings.HasSuffix(head, "Signature="+signature+"\r\n") || !strings.HasPrefix(head, "X-Amz-Date: 20261127T123045Z\r\n") {
			t.Errorf("%q: %s", target, head)
		}
	}
}

func bodyOf(request []byte) string {
	_, body, _ := bytes.Cut(request, endOfHead)
	return string(body)
}

func TestQueryRequestIsAForm(t *testing.T) {
	q := &queue{}
	q.setURL("http://127.0.0.1:9324/000000000000/q.fifo")
	l := newLedger(64, 1, 1)
	w := &wire{isQuery: true, host: "h", fifoGroups: 2, run: "r"}

	form, err := url.ParseQuery(bodyOf(w.send(nil, q, l, 3, 2, true, 5)))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Action": "SendMessageBatch", "QueueUrl": q.url, "SendMessageBatchRequestEntry.1.Id": "e0",
		"SendMessageBatchRequestEntry.2.MessageBody":            string(l.appendBody(nil, 4, 5)),
		"SendMessageBatchRequestEntry.2.MessageGroupId":         "g0",
		"SendMessageBatchRequestEntry.1.MessageDeduplicationId": "r-3",
	} {
		if form.Get(name) != want {
			t.Errorf("%s is %q, not %q", name, form.Get(name), want)
		}
	}
	request := w.remove(nil, q, [][]byte{[]byte("a&amp;b+/=")}, false)
	form, _ = url.ParseQuery(bodyOf(request))
	if form.Get("ReceiptHandle") != "a&b+/=" || !bytes.HasPrefix(request, []byte("POST /000000000000/q.fifo HTTP/1.1\r\n")) {
		t.Errorf("%s", request)
	}
}

func TestJSONRequestNamesItsAction(t *testing.T) {
	q := &queue{}
	q.setURL("http://h/1/q")
	w := &wire{host: "h"}
	request := string(w.receive(nil, q, 10, 20))
	if !strings.Contains(request, "X-Amz-Target: AmazonSQS.ReceiveMessage\r\n") ||
		!strings.HasSuffix(request, `{"QueueUrl":"http://h/1/q","MaxNumberOfMessages":10,"WaitTimeSeconds":20}`) {
		t.Error(request)
	}
}

func TestLedgerKnowsItsOwnBodies(t *testing.T) {
	l := newLedger(100, 1, 1)
	number := l.reserve(1)
	body := l.appendBody(nil, number, 77)

	at, err := l.receive(body)
	if err != nil || at != 77 || l.receivedCount != 1 {
		t.Errorf("at %d, %v", at, err)
	}
	if l.receive(body); l.duplicates != 1 {
		t.Error("a second delivery was not seen")
	}
	if _, err := l.receive(l.appendBody(nil, 9, 0)); err == nil {
		t.Error("a number that was never sent was taken")
	}
	if _, err := l.receive(body[1:]); err == nil {
		t.Error("a cut body was taken")
	}
	if l.checkMD5([]byte("hello"), []byte("5d41402abc4b2a76b9719d911017c592")) != nil || l.checkMD5(body, []byte("0")) == nil {
		t.Error("digests are not compared")
	}
}

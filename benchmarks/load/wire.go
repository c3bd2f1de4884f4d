package main

import (
	"net/url"
	"strconv"
	"time"
)

// A queue as the load generator knows it. Its URL is escaped once for each protocol.
type queue struct {
	name    string
	url     string
	path    string
	jsonURL []byte
	formURL []byte
}

func (q *queue) setURL(raw string) {
	q.url, q.path = raw, "/"
	q.jsonURL = []byte(raw)
	q.formURL = []byte(url.QueryEscape(raw))
	if u, err := url.Parse(raw); err == nil && u.Path != "" {
		q.path = u.Path
	}
}

// wire writes complete HTTP requests in one of the two protocols of SQS. It first writes the body into a reused buffer,
// then head and body into the client's.
type wire struct {
	isQuery    bool
	host       string
	extraHead  string // headers of every request
	signer     *signer
	fifoGroups uint64
	run        string

	body []byte
}

// plainAuthorization returns headers with an access key, which names an account, and an invalid signature.
func plainAuthorization(accessKey, region string) string {
	return "X-Amz-Date: 20260101T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=" + accessKey + "/20260101/" +
		region + "/sqs/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=" +
		"00000000000000000000000000000000000000000000000000000000deadbeef\r\n"
}

// sdkHead has the headers that boto3 sends beyond the necessary ones.
const sdkHead = "Accept-Encoding: identity\r\n" +
	"User-Agent: Boto3/1.44.0 md/Botocore#1.44.0 ua/2.1 os/linux#6.8 md/arch#x86_64 lang/python#3.11.9 " +
	"md/pyimpl#CPython m/b,Z,D cfg/retry-mode#standard Botocore/1.44.0\r\n" +
	"X-Amzn-Query-Mode: true\r\n" +
	"Amz-Sdk-Invocation-Id: 5b0cfa6a-6a33-4f39-8f77-2a1b50e6d0c4\r\nAmz-Sdk-Request: attempt=1\r\n"

func (w *wire) request(dst []byte, action string, q *queue) []byte {
	path, target, contentType := "/", "", "application/x-www-form-urlencoded"
	if !w.isQuery {
		target, contentType = "AmazonSQS."+action, "application/x-amz-json-1.0"
	} else if q != nil {
		path = q.path
	}
	dst = append(append(dst, "POST "...), path...)
	dst = append(append(dst, " HTTP/1.1\r\nHost: "...), w.host...)
	if target != "" {
		dst = append(append(dst, "\r\nX-Amz-Target: "...), target...)
	}
	dst = append(append(append(dst, "\r\nContent-Type: "...), contentType...), "\r\n"...)
	dst = append(dst, w.extraHead...)
	if w.signer != nil {
		dst = w.signer.appendHeaders(dst, path, contentType, target, w.body, time.Now())
	}
	dst = strconv.AppendInt(append(dst, "Content-Length: "...), int64(len(w.body)), 10)
	return append(append(dst, "\r\n\r\n"...), w.body...)
}

func (w *wire) open(action string, q *queue) {
	if w.isQuery {
		w.put("Action=", action, "&Version=2012-11-05")
		if q != nil {
			w.put("&QueueUrl=", string(q.formURL))
		}
		return
	}
	w.put(`{"QueueUrl":"`, string(q.jsonURL), `"`)
}

func (w *wire) put(parts ...string) {
	for _, part := range parts {
		w.body = append(w.body, part...)
	}
}

// send writes a SendMessage for one message, or a SendMessageBatch for n messages.
func (w *wire) send(dst []byte, q *queue, l *ledger, first uint64, n int, isBatch bool, now int64) []byte {
	w.body = w.body[:0]
	if !isBatch {
		w.open("SendMessage", q)
		w.message("", l, first, now)
		w.close("}")
		return w.request(dst, "SendMessage", q)
	}
	w.open("SendMessageBatch", q)
	w.close(`,"Entries":[`)
	for i := range n {
		w.entry("SendMessageBatchRequestEntry", i)
		w.message("&SendMessageBatchRequestEntry."+strconv.Itoa(i+1)+".", l, first+uint64(i), now)
		w.close("}")
	}
	w.close("]}")
	return w.request(dst, "SendMessageBatch", q)
}

// close writes punctuation that only JSON needs.
func (w *wire) close(text string) {
	if !w.isQuery {
		w.body = append(w.body, text...)
	}
}

func (w *wire) entry(list string, i int) {
	id := strconv.Itoa(i)
	if w.isQuery {
		w.put("&", list, ".", strconv.Itoa(i+1), ".Id=e", id)
		return
	}
	if i > 0 {
		w.put(",")
	}
	w.put(`{"Id":"e`, id, `"`)
}

func (w *wire) message(prefix string, l *ledger, number uint64, now int64) {
	if prefix == "" {
		prefix = "&"
	}
	if w.isQuery {
		w.put(prefix, "MessageBody=")
		w.body = l.appendBody(w.body, number, now)
	} else {
		w.put(`,"MessageBody":"`)
		w.body = l.appendBody(w.body, number, now)
		w.put(`"`)
	}
	if w.fifoGroups == 0 {
		return
	}
	group, dedup := "g"+strconv.FormatUint(number%w.fifoGroups, 10), w.run+"-"+strconv.FormatUint(number, 10)
	if w.isQuery {
		w.put(prefix, "MessageGroupId=", group, prefix, "MessageDeduplicationId=", dedup)
	} else {
		w.put(`,"MessageGroupId":"`, group, `","MessageDeduplicationId":"`, dedup, `"`)
	}
}

func (w *wire) receive(dst []byte, q *queue, countMax, waitSeconds int) []byte {
	w.body = w.body[:0]
	w.open("ReceiveMessage", q)
	count, wait := strconv.Itoa(countMax), strconv.Itoa(waitSeconds)
	if w.isQuery {
		w.put("&MaxNumberOfMessages=", count, "&WaitTimeSeconds=", wait)
	} else {
		w.put(`,"MaxNumberOfMessages":`, count, `,"WaitTimeSeconds":`, wait, "}")
	}
	return w.request(dst, "ReceiveMessage", q)
}

// remove deletes by receipt handles, still escaped as in the response of the receive.
func (w *wire) remove(dst []byte, q *queue, handles [][]byte, isBatch bool) []byte {
	w.body = w.body[:0]
	if !isBatch {
		w.open("DeleteMessage", q)
		w.handle("&ReceiptHandle=", handles[0])
		w.close("}")
		return w.request(dst, "DeleteMessage", q)
	}
	w.open("DeleteMessageBatch", q)
	w.close(`,"Entries":[`)
	for i, handle := range handles {
		w.entry("DeleteMessageBatchRequestEntry", i)
		w.handle("&DeleteMessageBatchRequestEntry."+strconv.Itoa(i+1)+".ReceiptHandle=", handle)
		w.close("}")
	}
	w.close("]}")
	return w.request(dst, "DeleteMessageBatch", q)
}

func (w *wire) handle(formName string, handle []byte) {
	if !w.isQuery {
		w.put(`,"ReceiptHandle":"`)
		w.body = append(w.body, handle...)
		w.put(`"`)
		return
	}
	w.put(formName)
	w.body = appendFormEscaped(w.body, unescapeXML(handle))
}

func (w *wire) create(dst []byte, name string, visibilitySeconds int) []byte {
	w.body = w.body[:0]
	visibility := strconv.Itoa(visibilitySeconds)
	if w.isQuery {
		w.put("Action=CreateQueue&Version=2012-11-05&QueueName=", name)
		w.put("&Attribute.1.Name=VisibilityTimeout&Attribute.1.Value=", visibility)
		if w.fifoGroups > 0 {
			w.put("&Attribute.2.Name=FifoQueue&Attribute.2.Value=true")
		}
	} else {
		w.put(`{"QueueName":"`, name, `","Attributes":{"VisibilityTimeout":"`, visibility, `"`)
		if w.fifoGroups > 0 {
			w.put(`,"FifoQueue":"true"`)
		}
		w.put("}}")
	}
	return w.request(dst, "CreateQueue", nil)
}

func (w *wire) drop(dst []byte, q *queue) []byte {
	w.body = w.body[:0]
	w.open("DeleteQueue", q)
	w.close("}")
	return w.request(dst, "DeleteQueue", q)
}

func (w *wire) fields(body []byte) fields { return fields{rest: body, isXML: w.isQuery} }

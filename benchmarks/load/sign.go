package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"time"
)

const (
	signAlgorithm = "AWS4-HMAC-SHA256"
	signService   = "sqs"
)

// A signer writes the X-Amz-Date and Authorization headers of Signature Version 4. It caches the day's key and formats
// the date once per second, which leaves two SHA-256 and one HMAC per request.
type signer struct {
	accessKey, secretKey, region, host string

	second int64
	date   string // 20060102T150405Z
	scope  string // 20060102/region/sqs/aws4_request
	mac    hash.Hash
	text   []byte
}

func (s *signer) appendHeaders(dst []byte, path, contentType, target string, body []byte, now time.Time) []byte {
	if now.Unix() != s.second {
		s.turn(now.UTC())
	}
	names := "content-type;host;x-amz-date"
	if target != "" {
		names += ";x-amz-target"
	}
	t := append(s.text[:0], "POST\n"...)
	t = append(append(t, path...), "\n\ncontent-type:"...)
	t = append(append(t, contentType...), "\nhost:"...)
	t = append(append(t, s.host...), "\nx-amz-date:"...)
	t = append(append(t, s.date...), '\n')
	if target != "" {
		t = append(append(append(t, "x-amz-target:"...), target...), '\n')
	}
	t = append(append(append(t, '\n'), names...), '\n')
	sum := sha256.Sum256(body)
	t = hex.AppendEncode(t, sum[:])
	sum = sha256.Sum256(t)

	t = append(t[:0], signAlgorithm+"\n"...)
	t = append(append(t, s.date...), '\n')
	t = append(append(t, s.scope...), '\n')
	t = hex.AppendEncode(t, sum[:])
	s.mac.Reset()
	s.mac.Write(t)
	s.text = t

	dst = append(append(dst, "X-Amz-Date: "...), s.date...)
	dst = append(append(dst, "\r\nAuthorization: "+signAlgorithm+" Credential="...), s.accessKey...)
	dst = append(append(append(dst, '/'), s.scope...), ", SignedHeaders="...)
	dst = append(append(dst, names...), ", Signature="...)
	dst = hex.AppendEncode(dst, s.mac.Sum(sum[:0]))
	return append(dst, "\r\n"...)
}

func (s *signer) turn(now time.Time) {
	s.second = now.Unix()
	s.date = now.Format("20060102T150405Z")
	scope := s.date[:8] + "/" + s.region + "/" + signService + "/aws4_request"
	if scope == s.scope {
		return
	}
	s.scope = scope
	key := []byte("AWS4" + s.secretKey)
	for _, part := range []string{s.date[:8], s.region, signService, "aws4_request"} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	s.mac = hmac.New(sha256.New, key)
}

package main

import (
	"crypto/md5"
	"encoding/hex"
	"errors"
	"math/rand"
	"strconv"
)

// The ledger writes the messages and tracks which were acknowledged, which were received, and which were duplicated.
//
// A body is a header of hex digits, then filler:   run (8) | number (12) | sent at, ns (16) | letters and digits …
// so it needs no escaping in JSON, XML or a form, and a received body shows its number and its age.
type ledger struct {
	run      [8]byte
	filler   []byte
	sent     uint64
	acked    bitset
	received bitset

	ackedCount, receivedCount, duplicates uint64

	checkEvery int
	looked     int
	md5Checked uint64
}

const (
	headerBytes  = 36
	numberDigits = 12
)

var (
	errForeign  = errors.New("a body that this run did not write")
	errDigest   = errors.New("the MD5 in the answer is not the body's")
	hexOf       = "0123456789abcdef"
	fillerChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

func newLedger(size, checkEvery int, seed int64) *ledger {
	random := rand.New(rand.NewSource(seed))
	l := &ledger{filler: make([]byte, size-headerBytes), checkEvery: checkEvery}
	for i := range l.filler {
		l.filler[i] = fillerChars[random.Intn(len(fillerChars))]
	}
	appendHex(l.run[:0], uint64(random.Uint32()), 8)
	return l
}

// reserve assigns the numbers of n messages and returns the first.
func (l *ledger) reserve(n int) uint64 {
	first := l.sent
	l.sent += uint64(n)
	return first
}

func (l *ledger) appendBody(dst []byte, number uint64, now int64) []byte {
	dst = append(dst, l.run[:]...)
	dst = appendHex(dst, number, numberDigits)
	dst = appendHex(dst, uint64(now), 16)
	return append(dst, l.filler...)
}

func (l *ledger) acknowledge(number uint64) {
	if l.acked.add(number) {
		l.ackedCount++
	}
}

// receive records a received body and returns when it was sent.
func (l *ledger) receive(body []byte) (sentAt int64, err error) {
	if len(body) != headerBytes+len(l.filler) || string(body[:8]) != string(l.run[:]) {
		return 0, errForeign
	}
	number, err := strconv.ParseUint(string(body[8:8+numberDigits]), 16, 64)
	if err != nil || number >= l.sent {
		return 0, errForeign
	}
	at, err := strconv.ParseUint(string(body[8+numberDigits:headerBytes]), 16, 63)
	if err != nil {
		return 0, errForeign
	}
	if l.received.add(number) {
		l.receivedCount++
	} else {
		l.duplicates++
	}
	return int64(at), nil
}

// isDue reports whether this message's MD5 is to be checked.
func (l *ledger) isDue() bool {
	l.looked++
	return l.checkEvery > 0 && l.looked%l.checkEvery == 0
}

func (l *ledger) checkMD5(body, digest []byte) error {
	l.md5Checked++
	sum := md5.Sum(body)
	var text [32]byte
	hex.Encode(text[:], sum[:])
	if string(text[:]) != string(digest) {
		return errDigest
	}
	return nil
}

func appendHex(dst []byte, value uint64, digits int) []byte {
	for shift := (digits - 1) * 4; shift >= 0; shift -= 4 {
		dst = append(dst, hexOf[value>>shift&15])
	}
	return dst
}

// bitset grows as needed.
type bitset []uint64

// add reports whether the number was new.
func (b *bitset) add(number uint64) bool {
	for uint64(len(*b)) <= number/64 {
		*b = append(*b, 0)
	}
	word, bit := &(*b)[number/64], uint64(1)<<(number%64)
	isNew := *word&bit == 0
	*word |= bit
	return isNew
}

package main

import "math/bits"

// A histogram counts durations in buckets that grow with the value: 128 equal buckets between each power of two and the
// next, so the error of a quantile is below 1 %. Its size is fixed.
//
//	value:   0 … 127   128 … 255   256 … 511   512 … 1023   …
//	width:      1           1           2           4
const (
	mantissaBits = 7
	perOctave    = 1 << mantissaBits
	octaves      = 36 // the last bucket begins at about 70 minutes
)

type histogram struct {
	count   uint64
	total   int64
	highest int64
	buckets [octaves * perOctave]uint64
}

func (h *histogram) record(ns int64) {
	ns = max(ns, 0)
	h.count++
	h.total += ns
	h.highest = max(h.highest, ns)
	h.buckets[min(bucket(ns), len(h.buckets)-1)]++
}

func bucket(ns int64) int {
	octave := bits.Len64(uint64(ns) >> mantissaBits)
	if octave == 0 {
		return int(ns)
	}
	return octave*perOctave + int(ns>>(octave-1)) - perOctave
}

// bounds returns the lowest value of a bucket and that of the next one.
func bounds(bucket int) (from, to int64) {
	octave, place := bucket/perOctave, int64(bucket%perOctave)
	if octave == 0 {
		return place, place + 1
	}
	return (place + perOctave) << (octave - 1), (place + perOctave + 1) << (octave - 1)
}

// quantile returns the value below which the fraction q of the recorded values lies; 0 if nothing was recorded.
func (h *histogram) quantile(q float64) int64 {
	rank := q * float64(h.count)
	var before float64
	for i, n := range h.buckets {
		after := before + float64(n)
		if n > 0 && after >= rank {
			from, to := bounds(i)
			return min(from+int64(float64(to-from)*(rank-before)/float64(n)), h.highest)
		}
		before = after
	}
	return h.highest
}

// Latency is the summary of a histogram in a result, in milliseconds.
type Latency struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
}

func (h *histogram) latency() Latency {
	if h.count == 0 {
		return Latency{}
	}
	ms := func(ns int64) float64 { return float64(ns/1000) / 1000 }
	return Latency{
		Mean: ms(h.total / int64(h.count)), P50: ms(h.quantile(0.5)), P95: ms(h.quantile(0.95)),
		P99: ms(h.quantile(0.99)), P999: ms(h.quantile(0.999)), Max: ms(h.highest),
	}
}

package main

import (
	"math/rand"
	"sort"
	"testing"
)

func TestEveryValueLiesWithinTheBoundsOfItsBucket(t *testing.T) {
	for _, value := range []int64{0, 1, 127, 128, 129, 255, 256, 257, 511, 512, 65_535, 65_536, 1e6, 1e9, 60e9} {
		from, to := bounds(bucket(value))
		if value < from || value >= to {
			t.Errorf("%d is in the bucket [%d, %d)", value, from, to)
		}
	}
}

func TestQuantilesAreWithinOnePercentOfTheSortedValues(t *testing.T) {
	random := rand.New(rand.NewSource(7))
	h := &histogram{}
	values := make([]int64, 100_000)
	for i := range values {
		values[i] = int64(random.ExpFloat64() * 2e6)
		h.record(values[i])
	}
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })

	for _, q := range []float64{0.5, 0.95, 0.99, 0.999} {
		exact := float64(values[int(q*float64(len(values)))])
		if got := float64(h.quantile(q)); got < exact*0.99 || got > exact*1.01 {
			t.Errorf("quantile %v is %v, not %v", q, got, exact)
		}
	}
	if h.quantile(1) != values[len(values)-1] {
		t.Errorf("the highest is %d, not %d", h.quantile(1), values[len(values)-1])
	}
}

func TestHistogramTakesAnyValue(t *testing.T) {
	h := &histogram{}
	h.record(-5)
	h.record(1 << 62)
	if h.count != 2 || h.highest != 1<<62 || (&histogram{}).quantile(0.5) != 0 {
		t.Error("values out of range are lost")
	}
}

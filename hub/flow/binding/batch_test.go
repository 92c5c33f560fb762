package binding

import (
	"errors"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
)

func TestInBatches(t *testing.T) {
	t.Parallel()
	errFatal, errOwn := errors.New("everybody's"), errors.New("its own")
	fail := func(at int, err error) func(int) error {
		return func(i int) error {
			if i == at {
				return err
			}
			return nil
		}
	}
	tests := map[string]struct {
		items     int
		do        func(int) error
		wantTried int
	}{
		"nothing to do":                                  {0, fail(-1, nil), 0},
		"all succeed":                                    {100, fail(-1, nil), 100},
		"the first batch is tried as a whole":            {100, fail(0, errFatal), firstBatch},
		"the batch of the failing item is completed":     {100, fail(4, errFatal), 4 + 8},
		"batches grow up to the limit":                   {1000, fail(64, errFatal), 4 + 8 + 16 + 32 + maxBatch},
		"an error that affects one item does not stop":   {100, fail(0, errOwn), 100},
		"the last fails":                                 {3, fail(2, errFatal), 3},
		"a batch is not larger than the number of items": {2, fail(-1, nil), 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			items := make([]int, tt.items)
			for i := range items {
				items[i] = i
			}
			var calls atomic.Int32
			errs, tried := inBatches(items, func(i int) error {
				calls.Add(1)
				return tt.do(i)
			}, func(err error) bool { return errors.Is(err, errFatal) })
			g.Expect(tried).To(Equal(tt.wantTried))
			g.Expect(calls.Load()).To(BeEquivalentTo(tt.wantTried))
			g.Expect(errs).To(HaveLen(tt.items))
			for i, err := range errs {
				if i < tried {
					g.Expect(errors.Is(err, tt.do(i))).To(BeTrue())
				} else {
					g.Expect(err).NotTo(HaveOccurred())
				}
			}
		})
	}
}

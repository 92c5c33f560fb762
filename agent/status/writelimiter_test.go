package status

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
)

func TestMoreAreWrittenAtATimeWhereTheNetworkIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var slow atomic.Bool
		r := &Reporter{isSlow: slow.Load}
		end := make(chan struct{})
		var writing sync.WaitGroup
		for range r.mostWorkers() {
			writing.Go(func() {
				r.writes.acquire(r.allowed)
				defer r.writes.release()
				<-end
			})
		}
		synctest.Wait()
		g.Expect(r.writes.taken).To(Equal(defaultWorkers))

		slow.Store(true)
		end <- struct{}{} // lets the waiting workers check again
		synctest.Wait()
		g.Expect(r.writes.taken).To(Equal(slowWorkers - 1))
		close(end)
		writing.Wait()
		g.Expect(r.writes.taken).To(BeZero())

		r.workers = 2
		g.Expect(r.allowed()).To(Equal(2), "who says how many is heard")
		g.Expect(r.mostWorkers()).To(Equal(2))
		g.Expect((&Reporter{}).mostWorkers()).To(Equal(defaultWorkers))
	})
}

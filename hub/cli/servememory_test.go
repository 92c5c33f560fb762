package cli

import (
	"context"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"
)

// heapGrowth returns the current GOGC: by how many percent the heap grows until the next garbage collection.
func heapGrowth() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func TestALargeHeapGrowsByLess(t *testing.T) { //nolint:paralleltest // There is one heap in a process.
	g := NewWithT(t)
	usual := heapGrowth()
	now := clocktesting.NewFakeClock(time.Now())
	gogc := "80"
	env := Environment{Clock: now, Getenv: func(name string) string { return map[string]string{"GOGC": gogc}[name] }}

	large := make([]byte, 640<<20) // takes no memory, since it is never written
	runtime.GC()
	over, end := context.WithCancel(t.Context())
	end()
	followHeap(over, env)
	g.Expect(heapGrowth()).To(Equal(usual), "who set it knows better")

	gogc = ""
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		followHeap(ctx, env)
	}()
	g.Eventually(heapGrowth).Should(BeEquivalentTo(50), "at once")
	runtime.KeepAlive(large)

	runtime.GC()
	g.Eventually(now.HasWaiters).Should(BeTrue())
	now.Step(heapPeriod)
	g.Eventually(heapGrowth).Should(BeEquivalentTo(100), "as soon as it is small again")

	cancel()
	g.Eventually(ended).Should(BeClosed())
}

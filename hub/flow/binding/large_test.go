package binding_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// TestManyLargeBindingsKeepNoOtherNamespaceWaiting has more bindings to many clusters than there are workers, of which none comes to an end: all
// others are written meanwhile, large ones too.
func TestManyLargeBindingsKeepNoOtherNamespaceWaiting(t *testing.T) {
	s := start(t)
	g, tenant, other := NewWithT(t), s.world(t, "a"), s.world(t, "a")
	many := []string{"a"}
	for i := range 63 {
		many = append(many, fmt.Sprint("gone-", i)) // it is the number of names that counts
	}
	release, waiting := tenant.hold()
	for i := range 24 {
		tenant.create(t, builder.MakeConfigMap(tenant.namespace, fmt.Sprint("large-", i)).Obj(), many...)
	}
	g.Eventually(waiting, stagetest.Timeout, stagetest.Poll).Should(Equal(6), "half of the workers")
	other.create(t, builder.MakeConfigMap(other.namespace, "small").Obj(), "a")
	other.create(t, builder.MakeConfigMap(other.namespace, "large").Obj(), many...)
	g.Eventually(func() []string { return other.works(t, "small-") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(1))
	g.Eventually(func() []string { return other.works(t, "large-") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(1))
	tenant.create(t, builder.MakeConfigMap(tenant.namespace, "small").Obj(), "a") // it is held, and by a worker of its own
	g.Eventually(waiting, stagetest.Timeout, stagetest.Poll).Should(Equal(7))
	release()
	g.Eventually(func() []string { return tenant.works(t, "large-") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(24))
}

// await has a request wait for as long as it is held.
func (s *stage) await(r *http.Request) {
	s.mu.Lock()
	var until chan struct{}
	for prefix, ends := range s.held {
		if strings.Contains(r.URL.Path, "/"+prefix) {
			s.holding[prefix]++
			until = ends
		}
	}
	s.mu.Unlock()
	if until == nil {
		return
	}
	select {
	case <-until:
	case <-r.Context().Done():
	}
}

// hold has the API server answer no write of Works of this world until what it returns is called. How many wait is what waiting returns.
func (w *world) hold() (release func(), waiting func() int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	prefix, ends := contract.DefaultExecutionNamespacePrefix+w.namespace+"-", make(chan struct{})
	if w.held == nil {
		w.held, w.holding = map[string]chan struct{}{}, map[string]int{}
	}
	w.held[prefix] = ends
	release = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.held, prefix)
		close(ends)
	}
	return release, func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.holding[prefix]
	}
}

package binding_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// TestLargeBindingsDoNotBlockOtherNamespaces has a namespace with more large bindings than there are workers, none of which
// finishes. Meanwhile the bindings of other namespaces must be written, and the small ones of that namespace.
func TestLargeBindingsDoNotBlockOtherNamespaces(t *testing.T) {
	const (
		many    = 64
		slots   = 6 // half of the workers
		waiting = 3
		first   = 4       // the first batch of a binding
		poll    = "250ms" // each poll lists all Works
	)
	s := start(t)
	g, tenant, other := NewWithT(t), s.world(t), s.world(t, "a")
	members, others := tenant.joinMany(t, many), other.joinMany(t, many)
	works := func(w *world, prefix string) func() int { return func() int { return len(w.works(t, prefix)) } }

	// These existed before: one that is rolled out in waves, and one that will be deleted.
	web := builder.MakeDeployment(tenant.namespace, "web").Replicas(2).Obj()
	staged := tenant.createStaged(t, web, members...)
	r := tenant.rollOut(t, staged)
	r.says(t, 1, nil, r.cut(t, 1, "Edited", tenant.source(t, web, staged)))
	gone := tenant.create(t, builder.MakeConfigMap(tenant.namespace, "gone").Obj(), members...)
	g.Eventually(works(tenant, "web-"), stagetest.Timeout, poll).Should(Equal(many))
	g.Eventually(works(tenant, "gone-"), stagetest.Timeout, poll).Should(Equal(many))

	release, held := tenant.hold()
	for i := range slots {
		tenant.create(t, builder.MakeConfigMap(tenant.namespace, fmt.Sprint("large-", i)).Obj(), members...)
	}
	g.Eventually(held, stagetest.Timeout, stagetest.Poll).Should(Equal(slots * first))
	waits := make([]*workv1alpha2.ResourceBinding, waiting)
	for i := range waits {
		waits[i] = tenant.create(t, builder.MakeConfigMap(tenant.namespace, fmt.Sprint("waits-", i)).Obj(), members...)
	}

	other.create(t, builder.MakeConfigMap(other.namespace, "small").Obj(), "a")
	other.create(t, builder.MakeConfigMap(other.namespace, "large").Obj(), others...)
	g.Eventually(works(other, "small-"), stagetest.Timeout, poll).Should(Equal(1))
	g.Eventually(works(other, "large-"), stagetest.Timeout, poll).Should(Equal(many))
	tenant.create(t, builder.MakeConfigMap(tenant.namespace, "small").Obj(), members[0])
	g.Eventually(held, stagetest.Timeout, stagetest.Poll).Should(Equal(slots*first+1), "a small binding gets a worker")

	// A waiting binding is reconciled when it changes: one is small now, and a wave of one cluster is not large. A deletion from many
	// clusters is.
	g.Expect(s.hub.Delete(t.Context(), gone)).To(Succeed())
	change(t, tenant, waits[waiting-1], func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = other.shares("a") })
	g.Eventually(works(other, "waits-"), stagetest.Timeout, poll).Should(Equal(1))
	told := len(tenant.told("web"))
	tenant.edit(t, web, staged, image("nginx:2"))
	r.says(t, 1, map[string]int64{members[1]: 2}, r.cut(t, 2, "Edited", tenant.source(t, web, staged)))
	g.Eventually(func() map[string]string { return tenant.has(t, web, members[1]) }, stagetest.Timeout, stagetest.Poll).Should(
		HaveKeyWithValue(members[1], "nginx:2 r2"))
	g.Eventually(func() []string { return tenant.told("web") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(told + 1))
	g.Expect(tenant.works(t, "gone-")).To(ConsistOf(members), "nothing is deleted yet")
	g.Expect(held()).To(Equal(slots*first+1), "no other large binding was started")

	release()
	g.Eventually(works(tenant, "large-"), stagetest.Timeout, poll).Should(Equal(slots * many))
	g.Eventually(works(tenant, "waits-"), stagetest.Timeout, poll).Should(Equal((waiting - 1) * many))
	g.Eventually(func() []string { return tenant.works(t, "gone-") }, stagetest.Timeout, poll).Should(HaveEach(HaveSuffix(" going")))
}

// joinMany adds clusters, and returns their names.
func (w *world) joinMany(t *testing.T, count int) []string {
	t.Helper()
	members := make([]string, count)
	for i := range members {
		members[i] = fmt.Sprintf("m%03d", i)
	}
	var wait sync.WaitGroup
	for part := range 8 {
		wait.Go(func() {
			for i := part; i < count; i += 8 {
				w.join(t, members[i])
			}
		})
	}
	wait.Wait()
	return members
}

// await delays a request that creates a Work while its world is held.
func (s *stage) await(r *http.Request) {
	var until chan struct{}
	s.mu.Lock()
	for prefix, ends := range s.held {
		if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/"+prefix) {
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

// hold lets no Work be created in this world until release is called. Waiting returns how many requests wait.
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

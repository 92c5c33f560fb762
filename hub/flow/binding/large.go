package binding

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

const (
	// largeFrom is the number of clusters from which a binding is a large one: two of the largest batches. It may hold its worker for seconds,
	// any other for a moment.
	largeFrom = 2 * maxBatch
	// largeRetry is after how long it is looked again whether there is a worker for a large binding; up to twice as long, so that those that wait
	// do not all ask at once.
	largeRetry = 200 * time.Millisecond
)

// largeTurns bound how many workers hold large bindings at a time: half of them those of one namespace, and three quarters those of all. So
// whoever has many of them keeps no binding of others waiting until they are all written; and these go on as fast, since each is written
// by as many requests at a time as a batch has. It is safe for use by many goroutines.
type largeTurns struct {
	ofOne, ofAll int

	mu   sync.Mutex
	held map[string]int
	all  int
}

func newLargeTurns(workers int) *largeTurns {
	return &largeTurns{ofOne: max(workers/2, 1), ofAll: max(workers-(workers+3)/4, 1), held: map[string]int{}}
}

// begin says whether there is a worker for a large binding of a namespace now. If there is, end gives it back.
func (t *largeTurns) begin(namespace string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held[namespace] >= t.ofOne || t.all >= t.ofAll {
		return false
	}
	t.held[namespace]++
	t.all++
	return true
}

func (t *largeTurns) end(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all--
	if t.held[namespace]--; t.held[namespace] == 0 {
		delete(t.held, namespace)
	}
}

// again is after how long a large binding asks again that found no worker.
func (t *largeTurns) again() time.Duration { return wait.Jitter(largeRetry, 1) }

// isLarge says whether a binding has so many clusters that it may hold its worker for long.
func isLarge(spec *workv1alpha2.ResourceBindingSpec) bool {
	n := len(spec.Clusters)
	for i := range spec.RequiredBy {
		n = max(n, len(spec.RequiredBy[i].Clusters))
	}
	return n >= largeFrom
}

package dependencies

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// targetCounts counts, for each namespace and cluster, the bindings of the namespace in the cluster, so that the clusters of a namespace
// are known without scanning its bindings. It follows the events of the cache; a controller receives those of all existing bindings before
// its first reconcile. The zero value has no counts. It is safe for concurrent use.
type targetCounts struct {
	mu sync.Mutex
	// of are the counts by namespace, then by cluster; none is 0.
	of map[string]map[string]int
}

// change records that a binding of a namespace moved from some clusters to others.
func (c *targetCounts) change(namespace string, was, is sets.Set[string]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cluster := range is {
		if !was.Has(cluster) {
			c.add(namespace, cluster, 1)
		}
	}
	for cluster := range was {
		if !is.Has(cluster) {
			c.add(namespace, cluster, -1)
		}
	}
}

// add changes a count. The caller holds the lock.
func (c *targetCounts) add(namespace, cluster string, by int) {
	of := c.of[namespace]
	if of == nil {
		of = map[string]int{}
		if c.of == nil {
			c.of = map[string]map[string]int{}
		}
		c.of[namespace] = of
	}
	if of[cluster] += by; of[cluster] > 0 {
		return
	}
	if delete(of, cluster); len(of) == 0 {
		delete(c.of, namespace)
	}
}

// clusters returns the clusters of the bindings of a namespace.
func (c *targetCounts) clusters(namespace string) sets.Set[string] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sets.KeySet(c.of[namespace])
}

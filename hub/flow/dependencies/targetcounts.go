package dependencies

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// targetCounts counts how many bindings of each namespace are to be in each cluster, so that where a namespace is to be is known without a look
// at all that is in it. It follows the events of the cache, of which a controller gets those of all that there is before it begins to work. The
// zero value has seen none. It is safe for use by many goroutines.
type targetCounts struct {
	mu sync.Mutex
	// of are the counts by namespace, then by cluster; none is 0.
	of map[string]map[string]int
}

// change notes that a binding of a namespace was to be in some clusters, and is to be in others from now on.
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

// clusters returns where bindings of a namespace are to be.
func (c *targetCounts) clusters(namespace string) sets.Set[string] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sets.KeySet(c.of[namespace])
}

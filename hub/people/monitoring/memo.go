package monitoring

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/view/applications"
)

// memo caches the state of each application: most bindings have not changed since the last scrape. It is not safe for
// concurrent use.
type memo struct {
	// known is the state of the clusters at the last scrape.
	known applications.Clusters
	// judged has the application of each binding, by the binding's address: the cache replaces a changed binding and
	// never modifies it.
	judged map[kube.Binding]judged
	// round counts the scrapes.
	round int
}

type judged struct {
	app *applications.Application
	// round is the last scrape at which the binding existed.
	round int
}

// of returns the applications of bindings, in the same order and read-only, and how many were recomputed:
// those whose binding changed, and those in clusters that fell silent, came back, were added or removed.
func (m *memo) of(bindings []kube.Binding, known applications.Clusters) (apps []*applications.Application, anew int) {
	if m.judged == nil {
		m.judged = make(map[kube.Binding]judged, len(bindings))
	}
	m.round++
	differ := changedClusters(m.known, known)
	apps = make([]*applications.Application, len(bindings))
	for i, b := range bindings {
		before, ok := m.judged[b]
		if !ok || slices.ContainsFunc(before.app.Places, func(p applications.Place) bool { return differ.Has(p.Cluster) }) {
			before.app = new(applications.Of(b, known))
			anew++
		}
		apps[i] = before.app
		m.judged[b] = judged{app: before.app, round: m.round}
	}
	if len(m.judged) > len(bindings) {
		for b, j := range m.judged {
			if j.round != m.round {
				delete(m.judged, b)
			}
		}
	}
	m.known = known
	return apps, anew
}

// changedClusters returns the clusters whose state differs.
func changedClusters(before, after applications.Clusters) sets.Set[string] {
	out := sets.Set[string]{}
	for name, heard := range after {
		if was, ok := before[name]; !ok || was.Fresh != heard.Fresh || !was.Since.Equal(heard.Since) {
			out.Insert(name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			out.Insert(name)
		}
	}
	return out
}

package monitoring

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/view/applications"
)

// memo remembers what is to be said of bindings: most of them are what they were when Prometheus asked last. It is not safe
// for use by several goroutines.
type memo struct {
	// known is the state of the clusters at the last scrape.
	known applications.Clusters
	// judged has the application of each binding, by the binding's address: the cache replaces a binding that changes, and never modifies it.
	judged map[kube.Binding]judged
	// round counts the questions.
	round int
}

type judged struct {
	app *applications.Application
	// round is the last one in which the binding was there.
	round int
}

// of returns what is to be said of bindings, in their order and not to be changed, and how many were looked at anew: those that
// are new or another, and those in clusters that fell silent, were heard from again, came or went.
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

// changedClusters returns the clusters of which something else is known than before.
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

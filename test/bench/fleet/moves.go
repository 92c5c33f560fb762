package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// moves tracks where applications are while clusters are lost.
type moves struct {
	lost sets.Set[string]

	mu     sync.Mutex
	places map[client.ObjectKey]place
	// affected are the applications that were in a lost cluster at the start.
	affected map[client.ObjectKey]bool
	// first and last are when an affected application was given other clusters; changed is the last change of any of
	// their places.
	first, last, changed time.Time
	ended                error
}

// place is the location of an application.
type place struct {
	// lost means that one of its clusters is lost.
	lost bool
	// runs means that none is, and that all of its clusters report it as running.
	runs bool
	// remains means that it has not been evicted from a lost cluster yet.
	remains bool
}

// placeOf returns the place of the application of a binding.
func placeOf(b *workv1alpha2.ResourceBinding, lost sets.Set[string]) place {
	var out place
	healthy := sets.New[string]()
	for i := range b.Status.AggregatedStatus {
		if item := &b.Status.AggregatedStatus[i]; item.Applied && item.Health == workv1alpha1.Healthy && item.StaleSince == nil {
			healthy.Insert(item.ClusterName)
		}
	}
	out.runs = len(b.Spec.Clusters) > 0
	for _, target := range b.Spec.Clusters {
		out.lost = out.lost || lost.Has(target.Name)
		out.runs = out.runs && healthy.Has(target.Name)
	}
	out.runs = out.runs && !out.lost
	for _, task := range b.Spec.GracefulEvictionTasks {
		out.remains = out.remains || lost.Has(task.FromCluster)
	}
	return out
}

// watchMoves tracks all applications until the context ends.
func (s *system) watchMoves(ctx context.Context, lost sets.Set[string]) (*moves, error) {
	m := &moves{lost: lost, places: map[client.ObjectKey]place{}, affected: map[client.ObjectKey]bool{}}
	version, err := s.listMoves(ctx, m)
	if err != nil {
		return nil, err
	}
	go func() {
		for ctx.Err() == nil {
			w, err := s.watchAgain(ctx, &workv1alpha2.ResourceBindingList{}, version)
			if err == nil {
				version, err = takeEvents(w, version, m.seeEvent)
			}
			if err != nil && isOver(err) {
				version, err = s.listMoves(ctx, m)
			}
			if err != nil {
				m.end(err)
				return
			}
		}
	}()
	return m, nil
}

// listMoves lists all bindings in pages, and returns the resourceVersion of the list.
func (s *system) listMoves(ctx context.Context, m *moves) (string, error) {
	var list workv1alpha2.ResourceBindingList
	for {
		if err := s.hubClient.List(ctx, &list, client.Limit(1000), client.Continue(list.Continue)); err != nil {
			return "", fmt.Errorf("listing bindings: %w", err)
		}
		for i := range list.Items {
			m.see(&list.Items[i])
		}
		if list.Continue == "" {
			return list.ResourceVersion, nil
		}
	}
}

func (m *moves) seeEvent(_ watch.EventType, obj client.Object) {
	if b, ok := obj.(*workv1alpha2.ResourceBinding); ok {
		m.see(b)
	}
}

func (m *moves) see(b *workv1alpha2.ResourceBinding) {
	key, now := client.ObjectKeyFromObject(b), placeOf(b, m.lost)
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.places[key]
	m.places[key] = now
	if !m.affected[key] || now == before {
		return
	}
	m.changed = time.Now()
	if before.lost && !now.lost {
		m.last = m.changed
		if m.first.IsZero() {
			m.first = m.changed
		}
	}
}

// begin starts the measurement, and returns the number of applications in clusters about to be lost.
func (m *moves) begin() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, p := range m.places {
		if p.lost {
			m.affected[key] = true
		}
	}
	return len(m.affected)
}

// await waits until a condition holds for all affected applications.
func (m *moves) await(ctx context.Context, what string, is func(place) bool) error {
	for began := time.Now(); ; {
		missing, example, ended := m.missing(is)
		switch {
		case missing == 0:
			return nil
		case ended != nil:
			return ended
		case time.Since(began) > waitTimeout:
			return fmt.Errorf("after %s %d of %d applications do not %s, such as %s", waitTimeout, missing, len(m.affected), what, example)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// missing counts the affected applications for which the condition does not hold.
func (m *moves) missing(is func(place) bool) (n int, example client.ObjectKey, ended error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.affected {
		if !is(m.places[key]) {
			n, example = n+1, key
		}
	}
	return n, example, m.ended
}

// leftAt returns when the first and the last affected application were given other clusters.
func (m *moves) leftAt() (first, last time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first, m.last
}

// since returns the time from began to the last change of place.
func (m *moves) since(began time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed.Sub(began)
}

func (m *moves) end(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = fmt.Errorf("watching bindings: %w", err)
}

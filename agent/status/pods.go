package status

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

const (
	// podsEvery is how often the reasons of unhealthy objects are refreshed.
	podsEvery = 5 * time.Second
	// podsAgain is how long a reported reason stays before another replaces it: a container in a crash loop changes
	// its reason several times a minute.
	podsAgain = 15 * time.Second
)

// unready are the reasons why pods of an object are not ready, and since when they are reported.
type unready struct {
	reasons []workv1alpha1.PodReason
	since   time.Time
	// asked says that this process determined the reasons; until then the hub keeps those that it has.
	asked bool
}

// followPods refreshes the reasons of unhealthy objects regularly until the context ends: pods change while the
// status of their workload stays.
func (r *Reporter) followPods(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.clock.After(podsEvery):
			r.explainAll()
		}
	}
}

// explainAll updates the reasons of all unhealthy objects.
func (r *Reporter) explainAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	for name, f := range r.works {
		for _, o := range f.objects {
			if o.interpreted && r.explain(o, now) {
				f.changed = true
			}
		}
		r.soon(name, f)
	}
}

// explain updates the reasons of an object, and returns whether they changed. A reported reason stays for a while,
// unless the object is healthy.
func (r *Reporter) explain(o *observation, now time.Time) bool {
	if o.health != workv1alpha1.Unhealthy {
		changed := len(o.unready.reasons) > 0
		o.unready = unready{asked: true}
		return changed
	}
	if len(o.unready.reasons) > 0 && now.Sub(o.unready.since) < podsAgain {
		return false
	}
	reasons, known := r.podReasons(o.last)
	if !known {
		return false
	}
	changed := !o.unready.asked || !equality.Semantic.DeepEqual(reasons, o.unready.reasons)
	o.unready.asked = true
	if changed {
		o.unready.reasons, o.unready.since = reasons, now
	}
	return changed
}

// reasonsOf returns the reasons to report for an object: until all pods were read, those that the hub has.
func reasonsOf(o *observation, id workv1alpha1.ResourceIdentifier, base []workv1alpha1.ManifestStatus) []workv1alpha1.PodReason {
	if o.unready.asked || o.health != workv1alpha1.Unhealthy {
		return o.unready.reasons
	}
	for i := range base {
		if base[i].Identifier == id {
			return base[i].PodReasons
		}
	}
	return nil
}

// sameReasons returns whether the objects of two reports have the same reasons.
func sameReasons(a, b []workv1alpha1.ManifestStatus) bool {
	return slices.EqualFunc(a, b, func(x, y workv1alpha1.ManifestStatus) bool {
		return equality.Semantic.DeepEqual(x.PodReasons, y.PodReasons)
	})
}

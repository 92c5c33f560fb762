package scenario

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/adjust/failover/evict"
)

// What must never happen, and the rule:
//
//  1. Deletion without an eviction: a Work is deleted only in a cluster that the application was evicted from, or that
//     is being removed.
//  2. Fewer copies because of the hub: a Work in a cluster that is left gracefully is deleted only after every target
//     has had its share ready at some time since it got that share, and all replicas have a target. Otherwise its grace
//     period must be over, and dispatching must not be suspended to any target that lacks its share, or a person
//     released it.
//  3. Two copies with purge mode Directly, which removes the old one first: the replicas in all members, silent ones
//     included, never exceed the wanted number.
//  4. Lost replicas: once the stages have settled, every replica has a target, or the binding says that it has none.
//  5. No end: the stages settle.
//  6. Deletion in a silent cluster: a Work is not deleted because of an eviction while its cluster is silent, unless a
//     person said that the cluster is lost. Its objects would be deleted later, when nobody knows the state of the
//     other copies.
//  7. Moving back and forth: a Work that was deleted in a member is not created there again at once.

// place records since when each cluster has its share.
func (w *world) place(a *app) {
	before := a.assigned
	a.assigned = map[string]share{}
	for _, t := range a.binding.Spec.Clusters {
		s := share{replicas: t.Replicas, since: w.now}
		if had, ok := before[t.Name]; ok && had.replicas == t.Replicas {
			s = had
		}
		a.assigned[t.Name] = s
	}
}

// deleteWork deletes a Work, and checks that it may be deleted.
func (w *world) deleteWork(a *app, cluster string, work *workv1alpha1.Work, intent string) {
	w.tell("%s: the Work in %s is deleted", a.name, cluster)
	w.mayDelete(a, cluster)
	a.deleted[cluster] = w.now
	work = work.DeepCopy()
	work.DeletionTimestamp = &metav1.Time{Time: w.now}
	metav1.SetMetaDataAnnotation(&work.ObjectMeta, contract.DeletionIntentAnnotation, intent)
	a.put(work)
}

func (w *world) mayDelete(a *app, cluster string) {
	why, ok := a.allowed[cluster]
	if !ok {
		w.breaks("1. %s is deleted in %s, which it was not evicted from", a.name, cluster)
		return
	}
	c := w.clusters[cluster]
	if c != nil && c.DeletionTimestamp.IsZero() && !meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterReady) && why != "taken back" {
		w.breaks("6. %s is deleted in %s (%s), which is not heard from", a.name, cluster, why)
	}
	if why == "at once" {
		return
	}
	if w.members[cluster].objects[a.name] == nil || w.members[cluster].objects[a.name].ready == 0 {
		return // nothing can be lost
	}
	switch why {
	case workv1alpha2.EvictionReleased, workv1alpha2.EvictionAbandoned, workv1alpha2.EvictionGone:
	case workv1alpha2.EvictionTimedOut:
		if early := w.early(a); early != "" {
			w.breaks("2. %s is given up in %s although %s", a.name, cluster, early)
		}
	default:
		if lacking := w.lacking(a); lacking != "" {
			w.breaks("2. %s goes from %s (%s) although %s", a.name, cluster, why, lacking)
		}
	}
}

// early says which target has not had its grace period yet, or was not sent its share; empty if none.
func (w *world) early(a *app) string {
	if evict.Missing(&a.binding.Spec) > 0 {
		return "part of it has no other place"
	}
	for _, t := range a.binding.Spec.Clusters {
		if o := w.members[t.Name].objects[a.name]; bindings.Suspended(a.binding.Spec.Suspension, t.Name) && (o == nil || o.replicas < t.Replicas) {
			return t.Name + " was not sent it"
		}
		if s := a.assigned[t.Name]; w.now.Sub(s.since) < a.grace {
			return t.Name + " has not had its time"
		}
	}
	return ""
}

// lacking says which share of an application has never been ready since it was assigned; empty if none.
func (w *world) lacking(a *app) string {
	if evict.Missing(&a.binding.Spec) > 0 {
		return "part of it has no other place"
	}
	for _, t := range a.binding.Spec.Clusters {
		o := w.members[t.Name].objects[a.name]
		if o == nil {
			return "it is not in " + t.Name + " yet"
		}
		well := time.Time{}
		for replicas, at := range o.wellAt {
			if replicas >= t.Replicas && at.After(well) {
				well = at
			}
		}
		if well.Before(a.assigned[t.Name].since) {
			return fmt.Sprintf("%s has never had %d that work", t.Name, t.Replicas)
		}
	}
	return ""
}

// toAndFro is how long a deleted Work must stay away from its member at least.
const toAndFro = 3 * time.Minute

// mayCreate checks that a new Work was not deleted a moment ago.
func (w *world) mayCreate(a *app, cluster string) {
	if at, ok := a.deleted[cluster]; ok && w.now.Sub(at) < toAndFro {
		w.breaks("7. %s is put into %s again, %s after it was deleted there", a.name, cluster, w.now.Sub(at))
	}
}

// check checks the third property after every write.
func (w *world) check() {
	for _, name := range names(w.apps) {
		a := w.apps[name]
		if !a.directly || a.most == 0 {
			continue
		}
		var runs int32
		for _, m := range names(w.members) {
			if c := w.clusters[m]; c == nil || !c.DeletionTimestamp.IsZero() {
				continue // a person said that the cluster is gone
			}
			if o := w.members[m].objects[name]; o != nil {
				runs += o.replicas
			}
		}
		if runs > a.most {
			w.breaks("3. %d replicas of %s are there, %d are to be", runs, name, a.most)
			a.most = runs // reported once
		}
	}
}

// checkSettled checks the fourth property when the stages have settled.
func (w *world) checkSettled() {
	if w.hub == nil {
		return
	}
	for _, name := range names(w.apps) {
		a := w.apps[name]
		if evict.Missing(&a.binding.Spec) > 0 && scheduled(a.binding) == workv1alpha2.ReasonScheduledSuccess {
			w.breaks("4. %d replicas of %s have no cluster, and nobody says so", evict.Missing(&a.binding.Spec), name)
		}
	}
}

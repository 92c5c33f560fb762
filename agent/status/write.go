package status

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/eventsink"
)

// draft is a status to be written, and what it is based on.
type draft struct {
	base, status workv1alpha1.WorkStatus
	// behind says that base is the agent's own last write, which the cache does not show yet.
	behind bool
	uid    types.UID
	events []eventsink.Event
	// drift is how many of the fresh drift entries it contains.
	drift int
	// unseen is when the first change in the member that it contains was seen; zero if it contains none.
	unseen time.Time
}

// write updates the status of one Work on the hub, with at most one patch.
func (r *Reporter) write(ctx context.Context, name types.NamespacedName) error {
	work := &workv1alpha1.Work{}
	reported := r.reported(name)
	if err := r.hubClient.Get(ctx, name, work); err != nil {
		if apierrors.IsNotFound(err) { // a Work that is gone has no status
			r.forget(name, reported)
		}
		return client.IgnoreNotFound(err)
	}
	if !work.DeletionTimestamp.IsZero() {
		r.settle(name)
		return nil // the status of a Work in deletion is of no interest
	}
	known := r.known()
	var news []eventsink.Event
	if known {
		news = r.interpret(ctx, name, work.UID)
	}
	d, ok := r.draft(name, work, known)
	if !ok {
		return nil
	}
	d.events = append(d.events, news...)
	patch, err := d.patch()
	if err != nil {
		return fmt.Errorf("encoding the status of Work %q: %w", name.Name, err)
	}
	resourceVersion := work.ResourceVersion
	if patch != nil {
		// Only the resourceVersion of the answer is needed, so do not transfer the manifests again.
		answer := &metav1.PartialObjectMetadata{}
		answer.SetGroupVersionKind(workv1alpha1.GroupVersion.WithKind("Work"))
		answer.SetNamespace(name.Namespace)
		answer.SetName(name.Name)
		err := r.hubClient.Status().Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(contract.FieldManagerAgent))
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case (apierrors.IsConflict(err) || apierrors.IsInvalid(err)) && r.replaced(ctx, name, d.uid):
			// It is another Work by now, which will be reported separately.
			return nil
		case err != nil:
			r.again(name, d.unseen)
			return fmt.Errorf("patching the status of Work %q: %w", name.Name, err)
		}
		resourceVersion = answer.ResourceVersion
		ctrl.LoggerFrom(ctx).V(1).Info("Reported a Work", "Work", name)
	}
	r.wrote(name, d, resourceVersion, patch != nil)
	for _, event := range d.events {
		event.Regarding = work
		r.events(event)
	}
	return nil
}

// replaced returns whether the cache shows another Work of that name, or none.
func (r *Reporter) replaced(ctx context.Context, name types.NamespacedName, uid types.UID) bool {
	work := &workv1alpha1.Work{}
	if err := r.hubClient.Get(ctx, name, work); err != nil {
		return apierrors.IsNotFound(err)
	}
	return work.UID != uid
}

// reported returns the UID of the Work that was last reported; empty if there is none.
func (r *Reporter) reported(name types.NamespacedName) types.UID {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.works[name]; ok {
		return f.uid
	}
	return ""
}

// again marks the facts of a Work as not written; the oldest of them was seen at unseen.
func (r *Reporter) again(name types.NamespacedName, unseen time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.works[name]; ok {
		f.changed, f.sending = true, nil
		if !unseen.IsZero() {
			f.unseen = unseen
		}
	}
}

// wrote records what the hub now has.
func (r *Reporter) wrote(name types.NamespacedName, d draft, resourceVersion string, patched bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.works[name]
	if !ok || f.uid != d.uid {
		return
	}
	f.sending = nil
	if !f.changed {
		f.unsentSince = time.Time{}
	}
	f.drift = slices.Delete(f.drift, 0, min(d.drift, len(f.drift)))
	f.wrote(d, resourceVersion, patched, r.clock.Now())
	if patched && !d.unseen.IsZero() {
		r.took.Observe(r.clock.Since(d.unseen).Seconds())
	}
}

// wrote records that the hub has a draft: at this version of the Work if it was sent, or at this version of the cache
// if that had it already.
func (f *facts) wrote(d draft, resourceVersion string, patched bool, now time.Time) {
	f.written.status = d.status
	switch {
	case patched:
		if now.Sub(f.written.at) < calm {
			f.written.inRow++
		} else {
			f.written.inRow = 0
		}
		f.written.resourceVersion, f.written.at = resourceVersion, now
	case !d.behind:
		f.written.resourceVersion = resourceVersion
	}
}

// draft builds the status of a Work from its facts. It returns false if there is nothing to write. Until the
// interpreter rules are known, the hub keeps the statuses of objects that were not interpreted.
func (r *Reporter) draft(name types.NamespacedName, work *workv1alpha1.Work, known bool) (draft, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.works[name]
	if !ok || !f.reported || f.uid != work.UID {
		return draft{}, false
	}
	f.changed = false
	d := draft{uid: f.uid, base: work.Status, unseen: f.unseen}
	f.unseen = time.Time{}
	if contract.Older(work.ResourceVersion, f.written.resourceVersion) && r.clock.Since(f.written.at) < trustWritten {
		d.base, d.behind = f.written.status, true
	}
	d.status.Conditions = slices.Clone(d.base.Conditions)
	for _, condition := range f.conditionsNow() {
		condition.LastTransitionTime = metav1.NewTime(r.clock.Now()).Rfc3339Copy() // with the precision that the API returns
		if condition.Status == "" {
			meta.RemoveStatusCondition(&d.status.Conditions, condition.Type)
		} else {
			meta.SetStatusCondition(&d.status.Conditions, condition)
		}
	}
	d.events = r.conditionEvents(d.base.Conditions, d.status.Conditions, name)
	beyond := f.tooLarge()
	for ordinal, id := range f.manifests {
		o, seen := f.objects[nameless(id)]
		id.Ordinal = ordinal
		if !seen || !o.interpreted { // an object seen just now is left for the next draft
			_, silent := f.silent[nameless(id)]
			if told := toldOf(id, d.base.ManifestStatuses); told != nil && (seen && !known || !seen && silent) {
				d.status.ManifestStatuses = append(d.status.ManifestStatuses, *told)
			}
			continue
		}
		one := workv1alpha1.ManifestStatus{Identifier: id, Status: o.status, Health: o.health, PodReasons: reasonsOf(o, id, d.base.ManifestStatuses)}
		if beyond[ordinal] {
			one.Status = nil
		}
		d.status.ManifestStatuses = append(d.status.ManifestStatuses, one)
	}
	d.status.Drift, d.drift = d.base.Drift, len(f.drift)
	if d.drift > 0 {
		d.status.Drift = remember(d.base.Drift, f.drift)
	}
	d.status.ObservedGeneration = f.generation
	d.status.ReportTime = new(metav1.NewTime(r.clock.Now()).Rfc3339Copy())
	f.sending = &d.status
	return d, true
}

// toldOf returns what the hub has about an object; nil if it has nothing.
func toldOf(id workv1alpha1.ResourceIdentifier, all []workv1alpha1.ManifestStatus) *workv1alpha1.ManifestStatus {
	for i := range all {
		if all[i].Identifier == id {
			return &all[i]
		}
	}
	return nil
}

// patch returns the merge patch with the changes, or nil. It applies only to the very Work that was reported (by
// UID). It has no resourceVersion: nobody else writes the status, and failing because of a change of the spec would
// only cost a second request.
func (d draft) patch() ([]byte, error) {
	status := map[string]any{}
	if !sameConditions(d.base.Conditions, d.status.Conditions) {
		status["conditions"] = d.status.Conditions
	}
	if !sameManifests(d.base.ManifestStatuses, d.status.ManifestStatuses) || !sameReasons(d.base.ManifestStatuses, d.status.ManifestStatuses) {
		status["manifestStatuses"] = d.status.ManifestStatuses // null removes the field
	}
	if d.base.ObservedGeneration != d.status.ObservedGeneration {
		status["observedGeneration"] = d.status.ObservedGeneration
	}
	if d.drift > 0 {
		status["drift"] = d.status.Drift
	}
	if len(status) == 0 {
		return nil, nil
	}
	if d.status.ReportTime != nil {
		status["reportTime"] = d.status.ReportTime
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": d.uid}, "status": status})
}

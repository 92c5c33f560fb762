package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution"
	"fairlead.dev/agent/execution/plan"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// Works returns the Works that the hub now has for the cluster.
func Works(ctx context.Context, o Options) ([]*workv1alpha1.Work, error) {
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	asking := tuned(o.Hub)
	asking.Timeout = answerTimeout
	hub, err := client.New(asking, client.Options{Scheme: scheme, Mapper: hubMapper()})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	namespace, waiting := askNamespace(ctx, hub, o.Cluster)
	if waiting != "" {
		return nil, fmt.Errorf("asking the hub for the Works of cluster %q: %s", o.Cluster, waiting)
	}
	out, err := worksIn(ctx, hub, namespace, o.Clock)
	if err != nil {
		return nil, fmt.Errorf("asking the hub for the Works of cluster %q: %w", o.Cluster, err)
	}
	return out, nil
}

// listTries bounds how often a list of Works begins anew.
const listTries = 3

// worksIn lists the Works of a namespace in pages, as the informer does: an API server ends an answer after a minute, which is too little for all
// of them over a slow network. A page that was cut off is asked for again in smaller ones. If the hub no longer has the rest of the list, the list
// begins anew.
func worksIn(ctx context.Context, hub client.Reader, namespace string, c clock.PassiveClock) ([]*workv1alpha1.Work, error) {
	var out []*workv1alpha1.Work
	pages, next := answering{size: page}, ""
	for tries := 1; ; {
		list, began, size := &workv1alpha1.WorkList{}, c.Now(), pages.size
		err := hub.List(ctx, list, client.InNamespace(namespace), client.Limit(size), client.Continue(next))
		pages.resize(c.Since(began), err == nil)
		switch {
		case err == nil:
			for i := range list.Items {
				out = append(out, &list.Items[i])
			}
			if next = list.Continue; next == "" {
				return out, nil
			}
		case next != "" && apierrors.IsResourceExpired(err) && tries < listTries:
			tries++
			out, next = nil, ""
		case pages.size < size && ctx.Err() == nil: // it was cut off
		default:
			return nil, err //nolint:wrapcheck // The caller wraps it.
		}
	}
}

// HeldError says that the number of objects to be removed needs a person's approval.
type HeldError struct {
	// Objects is the number of objects.
	Objects int
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%d objects would be removed, but without an approval at most %d are: they stay as they are. "+
		"If this is intended, run `agent leave --objects remove` here", e.Objects, clusterv1alpha1.DefaultBrakeObjects)
}

// Record stores Works in the journal, for a Sweep after the hub no longer has them.
func Record(ctx context.Context, o Options, works []*workv1alpha1.Work) error {
	remember(ctx, o).keep(works)
	// A journal only logs disk errors, so verify.
	if kept := remember(ctx, o).works; len(kept) < len(works) {
		return fmt.Errorf("%q has %d of %d Works; make it writable, and free space there", o.StateDir, len(kept), len(works))
	}
	return nil
}

// ErrNoRecord says that there is no record of what the agent applied.
var ErrNoRecord = errors.New("this agent has no record of the objects that it applied (its state directory was lost), so nothing was removed; " +
	"objects from the hub have the label " + contract.ManagedLabel + "=" + contract.LabelTrue)

// SweepOptions configure a Sweep.
type SweepOptions struct {
	// Works are those from the hub, in addition to those of the journal.
	Works []*workv1alpha1.Work
	// Stay leaves the objects in the member, without the agent's marks.
	Stay bool
	// Approved says that a person who knows the number of objects approved the removal. Without approval, a Sweep
	// that would remove more than the deletion brake allows returns a HeldError, and one without a record returns
	// ErrNoRecord.
	Approved bool
	// Unasked says that the hub did not list its Works: then a Sweep without a record returns ErrNoRecord even if it
	// is approved, and even if the objects stay.
	Unasked bool
	// Again keeps the record, for a caller that repeats the Sweep if it is interrupted afterwards.
	Again bool
	// Begin is called with the number of manifests before anything is done; it may be nil.
	Begin func(objects int)
}

// Sweep ends the work of an agent that will not run again: what it applied is removed, or stays without its marks. It
// handles the given Works and those of the journal, which is empty afterwards unless Again is set.
func Sweep(ctx context.Context, o Options, how SweepOptions) (execution.Swept, error) {
	scheme, err := kube.NewScheme()
	if err != nil {
		return execution.Swept{}, err
	}
	m, err := connectMember(o, scheme)
	if err != nil {
		return execution.Swept{}, err
	}
	known := remember(ctx, o)
	if (how.Unasked || !how.Approved && !how.Stay) && known.namespace == "" && len(how.Works) == 0 {
		return execution.Swept{}, ErrNoRecord
	}
	works := known.with(how.Works)
	objects := 0
	for _, work := range works {
		objects += len(work.Spec.Workload.Manifests)
	}
	if !how.Approved && !how.Stay && plan.Brakes(plan.Limit(nil), objects, objects) {
		return execution.Swept{}, &HeldError{Objects: objects}
	}
	if how.Begin != nil {
		how.Begin(objects)
	}
	known.keep(how.Works)
	sweeper := execution.Sweeper{
		MemberClient: m.applying, MemberReader: m.client, Namespaces: o.Namespaces, NamespacedKinds: m.namespacedKinds, Discovery: m.discovery, Clock: o.Clock,
	}
	swept, err := sweeper.Sweep(ctx, works, how.Stay)
	if err == nil && known.journal != nil && !how.Again {
		err = known.journal.Erase()
	}
	return swept, err
}

// with returns works and those of the journal that are not among them.
func (m remembered) with(works []*workv1alpha1.Work) []*workv1alpha1.Work {
	out := slices.Clone(works)
	given := map[client.ObjectKey]bool{}
	for _, work := range works {
		given[client.ObjectKeyFromObject(work)] = true
	}
	for _, kept := range m.works {
		if !given[client.ObjectKeyFromObject(kept.Work)] {
			out = append(out, kept.Work)
		}
	}
	return out
}

// keep stores Works in the journal, in case the sweep is interrupted.
func (m remembered) keep(works []*workv1alpha1.Work) {
	if m.journal == nil || len(works) == 0 {
		return
	}
	if m.namespace == "" {
		m.journal.Begin(works[0].Namespace)
	}
	for _, work := range works {
		m.journal.Put(work)
	}
}

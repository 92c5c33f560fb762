package scheduler

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/reserve"
)

// placement is a decision on a generation of a binding.
type placement struct {
	generation int64
	targets    []workv1alpha2.TargetCluster
	// admitted is the value of the annotation admitted-requests.
	admitted string
}

// decide decides on a binding, and reserves what it assigns. Decisions are made one at a time, so that each knows what those before it
// assigned. It also returns the decision's basis, and how long a preferred cluster still has to settle; 0 if there is none or it has.
func (r *reconciler) decide(ctx context.Context, b kube.Binding) (decide.Decision, *basis, time.Duration, error) {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	now := r.clock.Now()
	in, ns, err := r.gather(ctx, b, now)
	if err != nil {
		return decide.Decision{}, nil, 0, err
	}
	key := client.ObjectKeyFromObject(b)
	in.Memo = &r.memo
	d := decide.Decide(in)
	wait := r.failbackWait(key, d.FailbackReason != "", now)
	if d.FailbackReason != "" && wait == 0 {
		in.FailbackDue = true
		d = decide.Decide(in)
	}
	r.reserve(key, in.Spec, in.Spec.Clusters, d.Targets, now)
	if moves(in.Spec, d) || d.AdmittedRequests != in.AdmittedRequests {
		r.assumed[key] = placement{generation: b.GetGeneration(), targets: d.Targets, admitted: d.AdmittedRequests}
	}
	r.count(b)
	if d.NotPreferred {
		r.notPreferred.Insert(key)
	} else {
		r.notPreferred.Delete(key)
	}
	if reason := reasonOf(d); reason == workv1alpha2.ReasonScheduledSuccess {
		delete(r.waiting, key)
	} else {
		r.waiting[key] = reason
	}
	return d, &basis{clusters: in.Clusters, namespace: ns, byAPI: true, pending: in.APIPending}, wait, nil
}

// failbackWait returns how long a preferred cluster still has to settle, and records since when it is available.
func (r *reconciler) failbackWait(key types.NamespacedName, failback bool, now time.Time) time.Duration {
	if !failback {
		delete(r.failbackSince, key)
		return 0
	}
	since, known := r.failbackSince[key]
	if !known {
		since = now
		r.failbackSince[key] = now
	}
	return max(0, r.settle-now.Sub(since))
}

// arrived resets failbackSince of a binding that has moved to a preferred cluster: the next one has to settle anew.
func (r *reconciler) arrived(key types.NamespacedName) {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	delete(r.failbackSince, key)
}

// reserve reserves what the targets of a binding gain, and releases what they lose.
func (r *reconciler) reserve(key types.NamespacedName, spec *workv1alpha2.ResourceBindingSpec, before, after []workv1alpha2.TargetCluster, now time.Time) {
	for _, p := range reserve.Parts(spec, before, after) {
		r.ledger.Assign(key, p.Before, p.After, p.Request, now)
	}
}

// undo releases what a decision that was not written reserved.
func (r *reconciler) undo(ctx context.Context, b kube.Binding, before []workv1alpha2.TargetCluster, d decide.Decision) {
	key := client.ObjectKeyFromObject(b)
	r.deciding.Lock()
	defer r.deciding.Unlock()
	r.reserve(key, b.BindingSpec(), d.Targets, before, r.clock.Now())
	delete(r.assumed, key)
	r.countAgain(ctx, key)
	delete(r.waiting, key) // the binding is reconciled again
}

// gather reads the input of a decision. Its Clusters are those of the immutable snapshot. It also returns the Namespace of the binding, if
// it has one.
func (r *reconciler) gather(ctx context.Context, b kube.Binding, now time.Time) (decide.Input, *corev1.Namespace, error) {
	w := decide.World{Clusters: r.snapshot.Clusters(), Assumed: r.ledger.All(now), Latest: r.latest, Now: now}
	ns, err := kube.NamespaceNamed(ctx, r.hubClient, r.hubReader, b.GetNamespace())
	if err != nil {
		return decide.Input{}, nil, err
	}
	if ns != nil {
		w.Namespace = ns
	}
	if w.Quotas, err = r.quotasOf(ctx, b.GetNamespace()); err != nil {
		return decide.Input{}, nil, err
	}
	if len(w.Quotas) == 0 {
		delete(r.accounts, b.GetNamespace())
	} else if w.Used, err = r.accountOf(ctx, b.GetNamespace()); err != nil {
		return decide.Input{}, nil, err
	}
	peers, err := r.kind.Peers(ctx, r.hubClient, b)
	if err != nil {
		return decide.Input{}, nil, fmt.Errorf("looking for the bindings that are in a group with %q: %w", b.GetName(), err)
	}
	for _, peer := range peers {
		w.Others = append(w.Others, peer)
	}
	resource := &b.BindingSpec().Resource
	w.APIPending, err = kube.DefinedIn(ctx, r.hubClient, r.hubClient.RESTMapper(), schema.FromAPIVersionAndKind(resource.APIVersion, resource.Kind))
	return decide.InputOf(b, w), ns, err
}

// latest returns the targets and admitted requests of a binding: those of this scheduler's last decision if the cache does not show it
// yet.
func (r *reconciler) latest(b workv1alpha2.Binding) (targets []workv1alpha2.TargetCluster, admitted string) {
	// Any change of the targets changes the generation.
	key := types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()}
	if last, ok := r.assumed[key]; ok && last.generation == b.GetGeneration() {
		return last.targets, last.admitted
	}
	return b.BindingSpec().Clusters, b.GetAnnotations()[contract.AdmittedRequestsAnnotation]
}

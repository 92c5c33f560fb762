package scheduler

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/flow/scheduler/decide"
)

// The usage of the bindings of a namespace is summed up when it is first needed, and then updated with every decision and event on one of
// them. The functions below require the lock deciding.

// accountOf returns the usage of the bindings of a namespace with a quota.
func (r *reconciler) accountOf(ctx context.Context, namespace string) (*quota.Account, error) {
	if a := r.accounts[namespace]; a != nil {
		return a, nil
	}
	found, err := r.kind.List(ctx, r.hubClient, client.InNamespace(namespace))
	if err != nil {
		return nil, fmt.Errorf("listing the bindings of %q: %w", namespace, err)
	}
	a := &quota.Account{}
	r.accounts[namespace] = a
	for _, b := range found {
		r.count(b)
	}
	return a, nil
}

// count updates the usage of a binding, unless b is older than the last decision on it.
func (r *reconciler) count(b workv1alpha2.Binding) {
	a := r.accounts[b.GetNamespace()]
	if a == nil {
		return
	}
	if p, ok := r.assumed[types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()}]; ok && p.generation > b.GetGeneration() {
		return
	}
	a.Set(b.GetName(), decide.Uses(b, r.latest))
}

// countAgain updates the usage of a binding from the cache.
func (r *reconciler) countAgain(ctx context.Context, key client.ObjectKey) {
	if r.accounts[key.Namespace] == nil {
		return
	}
	b := r.kind.New()
	if err := r.hubClient.Get(ctx, key, b, client.UnsafeDisableDeepCopy); err != nil {
		delete(r.accounts, key.Namespace) // deleted or unreadable: the next decision sums up anew
		return
	}
	r.count(b)
}

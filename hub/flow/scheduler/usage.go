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

// What the bindings of a namespace use is added up once somebody has to know it, and from then on kept as they change:
// every decision and every event about one of them counts at once. All of this is under the lock deciding.

// accountOf returns what the bindings of a namespace with a quota use.
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

// count takes over what a binding uses. What is older than the last decision on it is not news.
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

// countAgain takes over what the cache says that a binding uses.
func (r *reconciler) countAgain(ctx context.Context, key client.ObjectKey) {
	if r.accounts[key.Namespace] == nil {
		return
	}
	b := r.kind.New()
	if err := r.hubClient.Get(ctx, key, b, client.UnsafeDisableDeepCopy); err != nil {
		delete(r.accounts, key.Namespace) // it is gone, or cannot be read: the next decision adds up anew
		return
	}
	r.count(b)
}

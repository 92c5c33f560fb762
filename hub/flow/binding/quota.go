package binding

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/quota"
)

// errUnadmitted means that a Work would request more than the scheduler has compared with the quotas, and that the scheduler will not
// compare it.
var errUnadmitted = errors.New("it requests more than was admitted so far")

// errOverQuota means that a Work would request more than its binding, which is what the scheduler compares with the quotas of the
// namespace: an override raises it. The Work stays as it is.
var errOverQuota = errors.New("it requests more than its quota allows")

// readQuotas reads the quotas of the namespace of a template.
func (r *reconciler) readQuotas(ctx context.Context, s *scope) error {
	if !r.namespaced() {
		return nil
	}
	var list policyv1alpha1.FederatedResourceQuotaList
	if err := r.hubClient.List(ctx, &list, client.InNamespace(s.binding.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the quotas of %q: %w", s.binding.GetNamespace(), err)
	}
	s.quotas = quota.For(list.Items, nil)
	s.boundBefore = r.bounded.see(s.binding.GetNamespace(), boundBy(s.quotas))
	return nil
}

// boundBy returns the resources that quotas bound.
func boundBy(quotas []quota.Quota) sets.Set[corev1.ResourceName] {
	out := sets.Set[corev1.ResourceName]{}
	for i := range quotas {
		for name := range quotas[i].Overall {
			out.Insert(name)
		}
	}
	return out
}

// bounded are the resources that quotas bound in each namespace, as last seen. The zero value is ready; it is safe for concurrent use.
type bounded struct {
	mu   sync.Mutex
	last map[string]sets.Set[corev1.ResourceName]
}

// see records what is bounded in a namespace. If more was bounded before, it returns that, until settle is called: either a quota was
// removed, or it was deleted with its namespace.
func (b *bounded) see(namespace string, now sets.Set[corev1.ResourceName]) sets.Set[corev1.ResourceName] {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.last[namespace].Union(now)
	b.put(namespace, was)
	if now.IsSuperset(was) {
		return nil
	}
	return was
}

// settle forgets what was bounded before in a namespace that stays, unless the record has changed since.
func (b *bounded) settle(namespace string, was, now sets.Set[corev1.ResourceName]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last[namespace].Equal(was) {
		b.put(namespace, now)
	}
}

// forget forgets a namespace that is being deleted.
func (b *bounded) forget(namespace string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.last, namespace)
}

func (b *bounded) put(namespace string, now sets.Set[corev1.ResourceName]) {
	if len(now) == 0 {
		delete(b.last, namespace)
		return
	}
	if b.last == nil {
		b.last = map[string]sets.Set[corev1.ResourceName]{}
	}
	b.last[namespace] = now
}

// lacksQuota returns whether a quota is gone that may have held a Work back, as this process saw, or, after a start, as the binding shows.
func (s *scope) lacksQuota() bool {
	if s.boundBefore != nil || len(s.quotas) == 0 && s.binding.GetAnnotations()[contract.AdmittedRequestsAnnotation] != "" {
		return true
	}
	said := meta.FindStatusCondition(s.binding.BindingStatus().Conditions, workv1alpha2.BindingRendered)
	return said != nil && said.Reason == workv1alpha2.ReasonQuotaExceeded
}

// quotaChanged selects events that change which resources quotas bound. The amounts are compared by the scheduler, which records on
// bindings what it admits.
func quotaChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*policyv1alpha1.FederatedResourceQuota)
			after, ok2 := e.ObjectNew.(*policyv1alpha1.FederatedResourceQuota)
			return !ok || !ok2 || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
				!sets.KeySet(before.Spec.Overall).Equal(sets.KeySet(after.Spec.Overall))
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// onQuota requests the bindings of a namespace when its quotas bound other resources.
func (r *reconciler) onQuota() handler.EventHandler {
	wake := func(ctx context.Context, changed client.Object, q queue) {
		found, err := r.kind.List(ctx, r.hubClient, client.InNamespace(changed.GetNamespace()))
		enqueueThose(ctx, q, found, err, func(kube.Binding) bool { return true })
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { wake(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, e.Object, q) },
	}
}

// withinQuotas returns whether all requests of a Work are admitted for its cluster. The error says what never will be; without an error,
// the Work waits for the scheduler, whose condition explains a long delay. It reads the requests from the manifest, after all overrides, so
// that no way to more or larger replicas bypasses the quota.
func (r *reconciler) withinQuotas(ctx context.Context, s *scope, target workv1alpha2.TargetCluster, work *workv1alpha1.Work) (bool, error) {
	if len(s.quotas) == 0 || len(work.Spec.Workload.Manifests) == 0 {
		return true, nil
	}
	requested, err := r.requestedBy(ctx, work.Spec.Workload.Manifests[0].Raw)
	if err != nil {
		return false, err
	}
	spec, targets := s.binding.BindingSpec(), []workv1alpha2.TargetCluster{target}
	asked := &workv1alpha2.ResourceBindingSpec{Components: spec.Components, ReplicaRequirements: spec.ReplicaRequirements}
	admitted := quota.Admitted(asked, s.binding.GetAnnotations()[contract.AdmittedRequestsAnnotation])
	unadmitted := quota.Beyond(s.quotas, quota.Usage(admitted, nil, targets), requested)
	if unadmitted == "" {
		return true, nil
	}
	if beyond := quota.Beyond(s.quotas, quota.Usage(asked, nil, targets), requested); beyond != "" {
		why := "In a namespace with a quota, overrides may not raise the requests of the template"
		if work.Annotations[contract.RevisionAnnotation] != "" {
			why = "In a namespace with a quota, neither its revision nor overrides may request more than the template does now"
		}
		return false, fmt.Errorf("%w: %s. %s", errOverQuota, beyond, why)
	}
	switch name := spec.SchedulerName; {
	case spec.Suspension != nil && ptr.Deref(spec.Suspension.Scheduling, false):
		return false, fmt.Errorf("%w: %s. The cluster keeps what it has until the scheduler has checked this against the quota, which it does once spec.suspension.scheduling "+
			"of the binding is no longer set", errUnadmitted, unadmitted)
	case name != "" && name != contract.DefaultSchedulerName:
		return false, fmt.Errorf("%w: %s. The cluster keeps what it has, since the policy names scheduler %q, which does not check quotas: name %q again, or have "+
			"an administrator remove the annotation %s from the binding", errUnadmitted, unadmitted, name, contract.DefaultSchedulerName, contract.AdmittedRequestsAnnotation)
	}
	return false, nil
}

// requestedBy returns what a manifest requests.
func (r *reconciler) requestedBy(ctx context.Context, raw []byte) (corev1.ResourceList, error) {
	manifest := &unstructured.Unstructured{}
	if err := manifest.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("reading the manifest for its requests: %w", err)
	}
	wants := &workv1alpha2.ResourceBindingSpec{}
	var err error
	switch kind := manifest.GroupVersionKind(); {
	case r.interpreter.Has(kind, interpreter.InterpretComponent):
		wants.Components, err = r.interpreter.Components(ctx, manifest)
	case r.interpreter.Has(kind, interpreter.InterpretReplica):
		wants.Replicas, wants.ReplicaRequirements, err = r.interpreter.Replicas(ctx, manifest)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what the manifest requests: %w", err)
	}
	return quota.Usage(wants, nil, []workv1alpha2.TargetCluster{{Replicas: wants.Replicas}}), nil
}

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
)

// leaseRenewal returns the renewTime of a cluster's lease, by the agent's clock, and how long the renewal holds without a line; zero if the
// lease was never renewed.
func (r *Reconciler) leaseRenewal(ctx context.Context, reader client.Reader, cluster string) (at time.Time, patience time.Duration, err error) {
	lease := &coordinationv1.Lease{}
	err = reader.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: cluster}, lease)
	if client.IgnoreNotFound(err) != nil {
		return time.Time{}, 0, fmt.Errorf("reading the lease of cluster %q: %w", cluster, err)
	}
	if lease.Spec.RenewTime == nil { // also if there is no lease
		return time.Time{}, 0, nil
	}
	return lease.Spec.RenewTime.Time, disruption.Patience(lease), nil
}

// policyVersions returns a text that changes with every change of a ClusterTaintPolicy.
func (r *Reconciler) policyVersions(ctx context.Context) (string, error) {
	var list policyv1alpha1.ClusterTaintPolicyList
	if err := r.hubClient.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing ClusterTaintPolicies: %w", err)
	}
	return selector.TaintPolicyVersions(list.Items), nil
}

// taintPolicies returns the valid ClusterTaintPolicies, compiled. For each generation of an invalid one a warning is emitted once.
func (r *Reconciler) taintPolicies(ctx context.Context) ([]selector.TaintPolicy, error) {
	var list policyv1alpha1.ClusterTaintPolicyList
	if err := r.hubClient.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ClusterTaintPolicies: %w", err)
	}
	policies, invalid := selector.CompileTaintPolicies(list.Items)
	for _, bad := range invalid {
		if r.warned.IsNew(string(bad.Policy.UID), reasonPolicyInvalid, strconv.FormatInt(bad.Policy.Generation, 10)) {
			r.events(policyInvalid(bad.Policy, bad.Err))
		}
	}
	return policies, nil
}

// targeting returns a binding that has the cluster as a target, and the number of such bindings.
func (r *Reconciler) targeting(ctx context.Context, cluster string) (example string, count int, err error) {
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		bindings, err := kind.Naming(ctx, r.hubClient, cluster)
		if err != nil {
			return "", 0, err
		}
		for _, b := range bindings {
			if !slices.ContainsFunc(b.BindingSpec().Clusters, func(t workv1alpha2.TargetCluster) bool { return t.Name == cluster }) {
				continue
			}
			name := client.ObjectKeyFromObject(b).String()
			if b.GetNamespace() == "" {
				name = b.GetName()
			}
			if count++; example == "" || name < example {
				example = name
			}
		}
	}
	return example, count, nil
}

// hasNoWorks reads live whether an execution namespace has no Works.
func (r *Reconciler) hasNoWorks(ctx context.Context, namespace string) (bool, error) {
	works := &metav1.PartialObjectMetadataList{}
	works.SetGroupVersionKind(workv1alpha1.GroupVersion.WithKind("WorkList"))
	if err := r.hubReader.List(ctx, works, client.InNamespace(namespace), client.Limit(1)); err != nil {
		return false, fmt.Errorf("listing works in %q: %w", namespace, err)
	}
	return len(works.Items) == 0, nil
}

// liveNamespace reads a namespace live; nil if it does not exist.
func (r *Reconciler) liveNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	namespace := &corev1.Namespace{}
	err := r.hubReader.Get(ctx, client.ObjectKey{Name: name}, namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nil means that it does not exist
	}
	if err != nil {
		return nil, fmt.Errorf("reading the execution namespace %q: %w", name, err)
	}
	return namespace, nil
}

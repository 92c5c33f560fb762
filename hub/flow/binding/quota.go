package binding

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/quota"
)

// errOverQuota says that a Work would request more than the binding says, which is what the scheduler compares with
// the quotas of the namespace: an override raises it. The cluster keeps what it has.
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
	return nil
}

// withinQuotas says whether all that a Work requests is admitted for its cluster, and the error what is not. Without an error it waits
// for the scheduler, whose condition says why if it takes long. The manifest itself is asked, after all overrides: no way to more
// replicas or larger ones leads around it.
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
	if quota.Beyond(s.quotas, quota.Usage(admitted, nil, targets), requested) == "" {
		return true, nil
	}
	if beyond := quota.Beyond(s.quotas, quota.Usage(asked, nil, targets), requested); beyond != "" {
		why := "Overrides may not raise what the template requests where there is a quota"
		if work.Annotations[contract.RevisionAnnotation] != "" {
			why = "Neither its revision nor overrides may request more than the template does now where there is a quota"
		}
		return false, fmt.Errorf("%w: %s. %s", errOverQuota, beyond, why)
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

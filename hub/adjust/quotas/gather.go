package quotas

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/adjust/quotas/parts"
)

// scope is the input of reconciling one FederatedResourceQuota.
type scope struct {
	quota *policyv1alpha1.FederatedResourceQuota
	// bindings are the bindings of its namespace, and works the Works of its parts; both are read-only.
	bindings []workv1alpha2.Binding
	works    []*workv1alpha1.Work
	// assignments are its static assignments by cluster, whether the Cluster exists or not; the first one per cluster
	// wins.
	assignments map[string]*policyv1alpha1.StaticClusterAssignment
	// assigned are the parts of existing Clusters that are not being deleted, unknown the names of Clusters that do not
	// exist.
	assigned []policyv1alpha1.StaticClusterAssignment
	unknown  []string
	// preserving are the names of the PropagationPolicies of its namespace that have what they leave in the members stay there, sorted.
	preserving []string
}

func (r *Reconciler) gather(ctx context.Context, q *policyv1alpha1.FederatedResourceQuota) (*scope, error) {
	given := q.Spec.StaticAssignments
	s := &scope{quota: q, assignments: make(map[string]*policyv1alpha1.StaticClusterAssignment, len(given))}
	bindings, err := kube.ResourceBindings().List(ctx, r.hubClient, client.InNamespace(q.Namespace))
	if err != nil {
		return nil, err
	}
	s.bindings = make([]workv1alpha2.Binding, 0, len(bindings))
	for _, b := range bindings {
		s.bindings = append(s.bindings, b)
	}
	if s.works, err = r.works(ctx, q); err != nil {
		return nil, err
	}
	if s.preserving, err = r.preserving(ctx, q.Namespace); err != nil {
		return nil, err
	}
	c := &clusterv1alpha1.Cluster{}
	for i := range given {
		part := &given[i]
		if s.assignments[part.ClusterName] != nil {
			continue
		}
		s.assignments[part.ClusterName] = part
		*c = clusterv1alpha1.Cluster{}
		err := r.hubClient.Get(ctx, client.ObjectKey{Name: part.ClusterName}, c, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
			s.unknown = append(s.unknown, part.ClusterName)
		case err != nil:
			return nil, fmt.Errorf("reading cluster %q: %w", part.ClusterName, err)
		case c.DeletionTimestamp.IsZero():
			s.assigned = append(s.assigned, *part)
		}
	}
	return s, nil
}

// preserving returns the names of the PropagationPolicies of a namespace that preserve beside its quotas, sorted.
func (r *Reconciler) preserving(ctx context.Context, namespace string) ([]string, error) {
	var list policyv1alpha1.PropagationPolicyList
	if err := r.hubClient.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the PropagationPolicies of %q: %w", namespace, err)
	}
	var out []string
	for i := range list.Items {
		if quota.Preserves(&list.Items[i]) {
			out = append(out, list.Items[i].Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// works lists the Works that bring the parts of a FederatedResourceQuota.
func (r *Reconciler) works(ctx context.Context, q *policyv1alpha1.FederatedResourceQuota) ([]*workv1alpha1.Work, error) {
	var list workv1alpha1.WorkList
	key := client.MatchingFields{worksByQuota: client.ObjectKeyFromObject(q).String()}
	if err := r.hubClient.List(ctx, &list, key, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the works of quota %q: %w", q.Name, err)
	}
	out := make([]*workv1alpha1.Work, 0, len(list.Items))
	for i := range list.Items {
		if _, ok := contract.ClusterOf(r.prefix, list.Items[i].Namespace); ok {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}

// parts returns the Works of the clusters named by the FederatedResourceQuota.
func (s *scope) parts(prefix string) []parts.Part {
	out := make([]parts.Part, 0, len(s.works))
	for _, work := range s.works {
		name, _ := contract.ClusterOf(prefix, work.Namespace)
		if assigned := s.assignments[name]; assigned != nil && work.DeletionTimestamp.IsZero() {
			out = append(out, parts.Part{Cluster: name, Hard: assigned.Hard, Work: work})
		}
	}
	return out
}

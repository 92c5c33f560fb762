package view

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/people/explain"
)

// gatherDecision reads what a decision about a binding depends on. Supposed bindings replace those on the hub. What may
// not be read is omitted, and the report says so.
func (r *Reader) gatherDecision(ctx context.Context, report *explain.Report, b kube.Binding, clusters []*clusterv1alpha1.Cluster, supposed ...kube.Binding) (decide.World, error) {
	w := decide.World{Clusters: clusters, Now: r.clock.Now()}
	resource := &b.BindingSpec().Resource
	var err error
	w.APIPending, err = kube.DefinedIn(ctx, r.hub, r.mapper, schema.FromAPIVersionAndKind(resource.APIVersion, resource.Kind))
	switch {
	case apierrors.IsForbidden(err):
		report.State = append(report.State, "You may not read ClusterResourceBindings: it is unknown whether the definition of the kind is being sent to some clusters.")
	case err != nil:
		return w, err
	}
	namespace := b.GetNamespace()
	if namespace != "" {
		ns, err := kube.NamespaceNamed(ctx, r.hub, r.hub, namespace)
		switch {
		case apierrors.IsForbidden(err):
			report.State = append(report.State, fmt.Sprintf("You may not read Namespace %s: it is unknown whether it may use all clusters; the following assumes that it may.", namespace))
		case err != nil:
			return w, err
		case ns != nil:
			w.Namespace = ns
		}
		var quotas policyv1alpha1.FederatedResourceQuotaList
		err = r.hub.List(ctx, &quotas, client.InNamespace(namespace))
		switch {
		case apierrors.IsForbidden(err):
			report.State = append(report.State, fmt.Sprintf("You may not read the FederatedResourceQuotas of namespace %s: it is unknown whether one prevents scheduling.", namespace))
		case err != nil:
			return w, fmt.Errorf("listing the quotas of namespace %q: %w", namespace, err)
		}
		w.Quotas = quotas.Items
	}
	if !decide.NeedsOthers(b, w.Quotas) {
		return w, nil
	}
	others, err := kube.BindingsIn(namespace).List(ctx, r.hub, client.InNamespace(namespace))
	if err != nil {
		return w, err
	}
	same := func(one, other workv1alpha2.Binding) bool {
		return one.GetName() == other.GetName() && one.GetNamespace() == other.GetNamespace()
	}
	for _, other := range others {
		if !slices.ContainsFunc(supposed, func(s kube.Binding) bool { return same(s, other) }) {
			w.Others = append(w.Others, other)
		}
	}
	for _, s := range supposed {
		if s.GetNamespace() == namespace {
			w.Others = append(w.Others, s)
		}
	}
	return w, nil
}

package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/view/clusters"
)

// Fleet is all clusters, and what the reader may not see of them.
type Fleet struct {
	Clusters []clusters.Cluster `json:"clusters"`
	// Hidden are sentences about what may not be read.
	Hidden []string `json:"hidden,omitempty"`
}

// Clusters reads all clusters, sorted by name. Leases and Works are omitted if they may not be read.
func (r *Reader) Clusters(ctx context.Context) (Fleet, error) {
	var list clusterv1alpha1.ClusterList
	if err := r.hub.List(ctx, &list); err != nil {
		return Fleet{}, fmt.Errorf("listing clusters: %w", err)
	}
	var out Fleet
	leases, err := r.leases(ctx)
	if err = out.hideForbidden(err, "You may not read the leases of the agents: when they were heard from is not shown."); err != nil {
		return Fleet{}, err
	}
	works, err := r.tally(ctx)
	if err = out.hideForbidden(err, "You may not read Works: how many there are is not shown."); err != nil {
		return Fleet{}, err
	}
	for i := range list.Items {
		c := &list.Items[i]
		in := clusters.Input{Cluster: c, Lease: leases[c.Name], Now: r.clock.Now()}
		if works != nil {
			in.Works = works.Of(ExecutionNamespace(c))
		}
		out.Clusters = append(out.Clusters, clusters.Of(in))
	}
	slices.SortFunc(out.Clusters, func(a, b clusters.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// hideForbidden returns the error, unless it is about rights: then it adds a sentence to Hidden.
func (f *Fleet) hideForbidden(err error, hidden string) error {
	if apierrors.IsForbidden(err) {
		f.Hidden = append(f.Hidden, hidden)
		return nil
	}
	return err
}

// ExecutionNamespace returns the execution namespace of a cluster.
func ExecutionNamespace(c *clusterv1alpha1.Cluster) string {
	return cmp.Or(c.Annotations[contract.ExecutionNamespaceAnnotation],
		contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, c.Name))
}

// leases reads the leases of the agents, by cluster.
func (r *Reader) leases(ctx context.Context) (map[string]*coordinationv1.Lease, error) {
	var list coordinationv1.LeaseList
	if err := r.hub.List(ctx, &list, client.InNamespace(contract.ClusterNamespace)); err != nil {
		return nil, fmt.Errorf("listing the leases of the agents: %w", err)
	}
	out := make(map[string]*coordinationv1.Lease, len(list.Items))
	for i := range list.Items {
		out[list.Items[i].Name] = &list.Items[i]
	}
	return out, nil
}

// tally counts all Works, without keeping their manifests.
func (r *Reader) tally(ctx context.Context) (clusters.Tally, error) {
	out := clusters.Tally{}
	err := listPages(ctx, r.hub, func() *workv1alpha1.WorkList { return &workv1alpha1.WorkList{} },
		func(list *workv1alpha1.WorkList) {
			for i := range list.Items {
				out.Add(&list.Items[i])
			}
		})
	if err != nil {
		return nil, fmt.Errorf("listing works: %w", err)
	}
	return out, nil
}

// ClusterNames reads the names of all clusters, sorted.
func (r *Reader) ClusterNames(ctx context.Context) ([]string, error) {
	found, err := r.clusters(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(found))
	for i, c := range found {
		out[i] = c.Name
	}
	return out, nil
}

// Capacities reads all clusters without leases and Works, sorted by name.
func (r *Reader) Capacities(ctx context.Context) ([]clusters.Cluster, error) {
	found, err := r.clusters(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]clusters.Cluster, len(found))
	for i, c := range found {
		out[i] = clusters.Of(clusters.Input{Cluster: c, Now: r.clock.Now()})
	}
	return out, nil
}

// Refusal is a Work that a cluster does not apply.
type Refusal struct {
	// Work is the name of the Work, and Message the reason that the cluster gave.
	Work    string `json:"work"`
	Message string `json:"message"`
}

// Cluster reads the details of a cluster, and its refusals, sorted by name.
func (r *Reader) Cluster(ctx context.Context, c *clusterv1alpha1.Cluster) (clusters.Cluster, []Refusal, error) {
	in := clusters.Input{Cluster: c, Lease: &coordinationv1.Lease{}, Now: r.clock.Now()}
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: c.Name}, in.Lease)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		in.Lease, err = nil, nil
	}
	if err != nil {
		return clusters.Cluster{}, nil, fmt.Errorf("reading the lease of %s: %w", c.Name, err)
	}
	tally, refused := clusters.Tally{}, []Refusal(nil)
	err = listPages(ctx, r.hub, func() *workv1alpha1.WorkList { return &workv1alpha1.WorkList{} },
		func(list *workv1alpha1.WorkList) {
			for i := range list.Items {
				w := &list.Items[i]
				tally.Add(w)
				applied := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.WorkApplied)
				if applied != nil && applied.Status != metav1.ConditionTrue && w.DeletionTimestamp == nil {
					refused = append(refused, Refusal{Work: w.Name, Message: applied.Message})
				}
			}
		}, client.InNamespace(ExecutionNamespace(c)))
	switch {
	case apierrors.IsForbidden(err):
	case err != nil:
		return clusters.Cluster{}, nil, fmt.Errorf("listing the works of %s: %w", c.Name, err)
	default:
		in.Works = tally.Of(ExecutionNamespace(c))
	}
	return clusters.Of(in), refused, nil
}

package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/binding/render"
)

// Rendered has the Work that one cluster should get, beside the Work that it has.
type Rendered struct {
	Cluster string
	// Desired is the Work as it would be rendered now; nil if it cannot be, and then Failed
	// says why, or if the cluster is not to have it.
	Desired *workv1alpha1.Work
	Failed  string
	// Sent is the Work that there is; nil if there is none.
	Sent *workv1alpha1.Work
	// Revision is the number of the revision that the cluster is to have, where changes go out in waves;
	// RevisionOf is NAMESPACE/NAME of the binding whose rollout it is, empty for its own.
	Revision   int64
	RevisionOf string
	// Stays says that what there is stays, and that nothing is made where nothing is: its rollout has not
	// said what the cluster is to have.
	Stays bool
}

// Rendered renders an application as the hub would, for each cluster that is to have it or
// has it, by name: of the revision that the cluster is to have, where changes go out in waves. It writes
// nothing.
func (r *Reader) Rendered(ctx context.Context, ref Ref) ([]Rendered, error) {
	b, err := r.RequireBinding(ctx, ref)
	if err != nil {
		return nil, err
	}
	template, err := r.Template(ctx, ref)
	if err != nil {
		return nil, err
	}
	works, err := r.Works(ctx, b)
	if err != nil {
		return nil, err
	}
	clusters, err := r.clusters(ctx)
	if err != nil {
		return nil, err
	}
	one, err := r.renderer(ctx, template, b)
	if err != nil {
		return nil, err
	}
	by, err := r.readFollowing(ctx, b)
	if err != nil {
		return nil, err
	}
	targets := bindings.Targets(b.BindingSpec())
	var out []Rendered
	for _, c := range clusters {
		row := Rendered{Cluster: c.Name}
		for i := range works {
			if works[i].Namespace == ExecutionNamespace(c) && works[i].DeletionTimestamp == nil {
				row.Sent = &works[i]
			}
		}
		i := slices.IndexFunc(targets, func(t workv1alpha2.TargetCluster) bool { return t.Name == c.Name })
		if i >= 0 {
			of, made, err := r.stage(ctx, &row, template, one, by)
			if err != nil {
				return nil, err
			}
			if of != nil {
				if row.Desired, err = one.render(of, made.Overrides, b, targets[i], c); err != nil {
					row.Failed = err.Error()
				}
			}
		}
		if i >= 0 || row.Sent != nil {
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b Rendered) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return out, nil
}

// renderer renders one template.
type renderer struct {
	overrides override.Plan
	revise    render.Revise
	// part is the template as a part of a revision, made with scaling.
	part    revision.Part
	scaling revision.Revise
}

func (r *Reader) renderer(ctx context.Context, template *unstructured.Unstructured, b kube.Binding) (*renderer, error) {
	kinds, err := r.Interpreter(ctx)
	if err != nil {
		return nil, err
	}
	policies, err := r.overrides(ctx, template.GetNamespace())
	if err != nil {
		return nil, err
	}
	out := &renderer{overrides: override.Select(policies, selector.TargetOf(template))}
	if kinds.Has(template.GroupVersionKind(), interpreter.ReviseReplica) {
		out.revise = func(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
			return kinds.ReviseReplicas(ctx, obj, replicas)
		}
	}
	if out.revise != nil && bindings.IsWorkload(b.BindingSpec()) {
		out.scaling = revision.Revise(out.revise)
	}
	out.part, err = revision.MakePart(revision.Source{Template: template, Rules: out.overrides.Rules(), Revise: out.scaling})
	return out, err
}

// render renders a template, or what a revision has of it, for one cluster.
func (r *renderer) render(
	template *unstructured.Unstructured, overrides override.Plan, b kube.Binding, target workv1alpha2.TargetCluster, c *clusterv1alpha1.Cluster,
) (*workv1alpha1.Work, error) {
	return render.Work(render.Input{
		Template: template, Binding: b, Target: target, Cluster: c, Revise: r.revise, Overrides: overrides,
		ExecutionNamespacePrefix: strings.TrimSuffix(ExecutionNamespace(c), c.Name),
	})
}

// overrides reads the override policies that could be about the objects of a namespace.
func (r *Reader) overrides(ctx context.Context, namespace string) (override.Policies, error) {
	var out override.Policies
	var wide policyv1alpha1.ClusterOverridePolicyList
	if err := r.hub.List(ctx, &wide); err != nil {
		return out, fmt.Errorf("listing clusteroverridepolicies: %w", err)
	}
	out.Cluster = wide.Items
	if namespace == "" {
		return out, nil
	}
	var near policyv1alpha1.OverridePolicyList
	if err := r.hub.List(ctx, &near, client.InNamespace(namespace)); err != nil {
		return out, fmt.Errorf("listing overridepolicies: %w", err)
	}
	out.Namespaced = near.Items
	return out, nil
}

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

// Rendered has the Work that a cluster should have, and the Work that it has.
type Rendered struct {
	Cluster string
	// Desired is the Work as it would be rendered now. It is nil if rendering fails, with the reason in Failed, or if
	// the cluster is not a target.
	Desired *workv1alpha1.Work
	Failed  string
	// Sent is the existing Work; nil if there is none.
	Sent *workv1alpha1.Work
	// Revision is the revision that the cluster should have, with staged rollouts. RevisionOf is NAMESPACE/NAME of the
	// binding of that rollout; empty for its own.
	Revision   int64
	RevisionOf string
	// Stays says that an existing Work stays, and no new one is created, because the rollout has not yet assigned a
	// revision to the cluster.
	Stays bool
}

// Rendered renders an application as the hub would, for each cluster that has it or should, sorted by name. With staged
// rollouts, it renders the revision that each cluster should have. It writes nothing.
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
			from, made, err := r.stage(ctx, &row, template, one, by)
			if err != nil {
				return nil, err
			}
			if from != nil {
				if row.Desired, err = one.render(from, made.Overrides, b, targets[i], c); err != nil {
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

// render renders a template, or its version in a revision, for one cluster.
func (r *renderer) render(
	template *unstructured.Unstructured, overrides override.Plan, b kube.Binding, target workv1alpha2.TargetCluster, c *clusterv1alpha1.Cluster,
) (*workv1alpha1.Work, error) {
	return render.Work(render.Input{
		Template: template, Binding: b, Target: target, Cluster: c, Revise: r.revise, Overrides: overrides,
		ExecutionNamespacePrefix: strings.TrimSuffix(ExecutionNamespace(c), c.Name),
	})
}

// overrides reads the override policies that could apply to objects in a namespace.
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

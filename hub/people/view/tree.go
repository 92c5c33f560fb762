package view

import (
	"context"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/tree"
)

// Tree returns the path of an application from its template to the objects in the members.
func (r *Reader) Tree(ctx context.Context, ref Ref) (tree.Node, error) {
	b, err := r.RequireBinding(ctx, ref)
	if err != nil {
		return tree.Node{}, err
	}
	clusters, err := r.clusters(ctx)
	if err != nil {
		return tree.Node{}, err
	}
	works, err := r.Works(ctx, b)
	if err != nil {
		return tree.Node{}, err
	}
	known, in := applications.Clusters{}, map[string][]workv1alpha1.Work{}
	for _, c := range clusters {
		known[c.Name] = applications.FreshnessOf(c)
		for i := range works {
			if works[i].Namespace == ExecutionNamespace(c) {
				in[c.Name] = append(in[c.Name], works[i])
			}
		}
	}
	return tree.Of(tree.Input{App: applications.Of(b, known), Binding: b, Works: in}), nil
}

package view

import (
	"context"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/hub/view/app"
	"fairlead.dev/hub/view/trail"
)

// Tree follows an application from its template to the objects in the members.
func (r *Reader) Tree(ctx context.Context, ref Ref) (trail.Node, error) {
	b, err := r.Bound(ctx, ref)
	if err != nil {
		return trail.Node{}, err
	}
	clusters, err := r.clusters(ctx)
	if err != nil {
		return trail.Node{}, err
	}
	works, err := r.Works(ctx, b)
	if err != nil {
		return trail.Node{}, err
	}
	known, in := app.Clusters{}, map[string][]workv1alpha1.Work{}
	for _, c := range clusters {
		known[c.Name] = app.HeardOf(c)
		for i := range works {
			if works[i].Namespace == ExecutionNamespace(c) {
				in[c.Name] = append(in[c.Name], works[i])
			}
		}
	}
	return trail.Of(trail.Input{App: app.Of(b, known), Binding: b, Works: in}), nil
}

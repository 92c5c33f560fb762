package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

// catchUp measures how long the Works take that were created while the line was down.
func (b *bench) catchUp(ctx context.Context) error {
	b.relay.Cut()
	policy := &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "all"},
		Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "ConfigMap", LabelSelector: &metav1.LabelSelector{MatchLabels: labels()}}},
			Placement: policyv1alpha1.Placement{
				ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{member}},
				// The cluster gets new templates although it is unreachable.
				ClusterTolerations: []corev1.Toleration{{Key: contract.TaintClusterUnreachable, Operator: corev1.TolerationOpExists}},
			},
		},
	}
	for _, obj := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, policy} {
		if err := b.hub.Create(ctx, obj); err != nil {
			return fmt.Errorf("making %q: %w", obj.GetName(), err)
		}
	}
	return b.arriveLater(ctx, small, b.works, fmt.Sprintf("%d Works after the line was away", b.works))
}

// catchUpLarge does the same with large Works. A response with a hundred of them would time out on its way: nothing may
// be requested again and again.
func (b *bench) catchUpLarge(ctx context.Context) error {
	if b.large == 0 {
		return nil
	}
	b.relay.Cut()
	return b.arriveLater(ctx, large, b.large, fmt.Sprintf("%d Works of 48 kB after the line was away", b.large))
}

// arriveLater creates templates while the line is down, and measures how long their Works take once it is up.
func (b *bench) arriveLater(ctx context.Context, size string, count int, what string) error {
	cut := time.Now()
	progress("the line is away; making %d templates", count)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for i := range count {
		g.Go(func() error { return b.hub.Create(gctx, template(size, i)) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("making templates: %w", err)
	}
	if err := b.until(ctx, "Works made", size, func(works []workv1alpha1.Work) int { return len(works) }, count); err != nil {
		return err
	}
	progress("restarting the hub")
	if err := b.fleet.Stop(ctx, fleet.HubName); err != nil {
		return err
	}
	if err := b.fleet.StartHub(ctx); err != nil {
		return err
	}
	if !sleep(ctx, b.away-time.Since(cut)) {
		return ctx.Err()
	}
	target, err := b.address()
	if err != nil {
		return err
	}
	before, began := b.relay.usage(), time.Now()
	b.relay.Connect(target)
	if err := b.until(ctx, "Works reported", size, reported, count); err != nil {
		return err
	}
	took, used := time.Since(began), b.relay.usage().minus(before)
	its, err := b.own(ctx, size)
	if err != nil {
		return err
	}
	b.row(what, took, used, its)
	b.judge(what, used, its)
	b.bars.Most(what+": connections", float64(used.connections), mostConnections, "")
	return nil
}

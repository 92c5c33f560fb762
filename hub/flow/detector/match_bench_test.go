package detector

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/go-logr/logr"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/cluster"
)

// BenchmarkPolicyOf measures how long it takes to find the policy of one of 10,000 unclaimed templates in the cache of a running hub: with
// 1,000 policies that name ten templates each, and with 1,000 more for other kinds.
func BenchmarkPolicyOf(b *testing.B) {
	hub := cluster.Shared(b, cluster.Options{Profile: cluster.Hub})
	c, namespace := hub.Client(b), hub.Namespace(b)
	const policies, each = 1000, 10
	for _, others := range []int{0, 1000} {
		b.Run("policies of other kinds="+strconv.Itoa(others), func(b *testing.B) {
			ctx := b.Context()
			if others == 0 {
				makePolicies(b, c, namespace, "web", "Deployment", policies, each)
			} else {
				makePolicies(b, c, namespace, "net", "NetworkPolicy", others, each)
			}
			r := reader(b, hub)
			templates := make([]*metav1.PartialObjectMetadata, policies*each)
			for i := range templates {
				templates[i] = &metav1.PartialObjectMetadata{
					TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("web-%d-%d", i/each, i%each)},
				}
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				p, _, err := r.policyOf(ctx, templates[i%len(templates)], nil)
				if err != nil || p == nil {
					b.Fatal("no policy", err)
				}
				i++
			}
		})
	}
}

func makePolicies(b *testing.B, c client.Client, namespace, prefix, kind string, policies, each int) {
	b.Helper()
	apiVersion := "apps/v1"
	if kind == "NetworkPolicy" {
		apiVersion = "networking.k8s.io/v1"
	}
	var wait sync.WaitGroup
	for part := range 8 {
		wait.Go(func() {
			for i := part; i < policies; i += 8 {
				p := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", prefix, i)}}
				for j := range each {
					p.Spec.ResourceSelectors = append(p.Spec.ResourceSelectors, named(apiVersion, kind, fmt.Sprintf("%s-%d-%d", prefix, i, j)))
				}
				if err := c.Create(context.WithoutCancel(b.Context()), p); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

// reader returns a reconciler with the cache of a hub, which runs no workers.
func reader(b *testing.B, hub *cluster.Cluster) *Reconciler {
	b.Helper()
	scheme, err := kube.NewScheme()
	if err != nil {
		b.Fatal(err)
	}
	mgr, err := ctrl.NewManager(hub.Config, ctrl.Options{
		Scheme: scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := addIndexes(b.Context(), mgr.GetFieldIndexer()); err != nil {
		b.Fatal(err)
	}
	go func() {
		if err := mgr.Start(b.Context()); err != nil {
			b.Error(err)
		}
	}()
	if !mgr.GetCache().WaitForCacheSync(b.Context()) {
		b.Fatal("the cache did not sync")
	}
	return &Reconciler{hubClient: mgr.GetClient()}
}

package failover

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/evictions"
	"fairlead.dev/test/stagetest"
)

// The one before this hub took the taint off, or an operator did, which its cache does not show.
func TestAHubThatDoesNotSeeThatATaintIsGoneMovesNothing(t *testing.T) {
	t.Parallel()
	read := &atomic.Int64{}
	s := startWith(t, 0, func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/clusters/edge-1") {
			read.Add(1)
		}
		return nil, nil
	}, func(o *manager.Options) {
		o.Cache.ByObject = map[client.Object]cache.ByObject{&clusterv1alpha1.Cluster{}: {Transform: func(in any) (any, error) {
			if c, ok := in.(*clusterv1alpha1.Cluster); ok {
				c.Spec.Taints = []corev1.Taint{lost}
			}
			return in, nil
		}}}
	})
	s.cluster(t, "edge-1")
	b := s.binding(t, "web", "edge-1")
	s.g.Eventually(read.Load).WithTimeout(stagetest.Timeout).Should(BeNumerically(">", 1), "it looks again and again")
	s.g.Expect(s.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
	s.g.Expect(where(b)).To(Equal("edge-1"))
	s.g.Expect(b.Spec.GracefulEvictionTasks).To(BeEmpty())
}

// Nor does it end an eviction by what its cache shows of clusters, when one has fallen silent since, or was tainted again.
func TestAHubThatDoesNotSeeHowClustersAreEndsNoEviction(t *testing.T) {
	tests := map[string]struct {
		// now is done to what is there, shows to what the cache shows of it.
		now     func(t *testing.T, s *stage)
		shows   func(*clusterv1alpha1.Cluster)
		targets []workv1alpha2.TargetCluster
	}{
		"what took the place is silent": {
			now: func(t *testing.T, s *stage) {
				t.Helper()
				s.taint(t, lost)
				s.ready(t, "edge-2", metav1.ConditionUnknown, time.Now())
			},
			shows: func(c *clusterv1alpha1.Cluster) {
				c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
			},
			targets: []workv1alpha2.TargetCluster{{Name: "edge-2", Replicas: 2}},
		},
		"the cluster that seems to be back is tainted": {
			now: func(t *testing.T, s *stage) {
				t.Helper()
				s.taint(t, lost)
			},
			shows: func(c *clusterv1alpha1.Cluster) { c.Spec.Taints = nil },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			read := &atomic.Int64{}
			s := startWith(t, 0, func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/clusters/edge-") {
					read.Add(1)
				}
				return nil, nil
			}, func(o *manager.Options) {
				o.Cache.ByObject = map[client.Object]cache.ByObject{&clusterv1alpha1.Cluster{}: {Transform: func(in any) (any, error) {
					if c, ok := in.(*clusterv1alpha1.Cluster); ok {
						tt.shows(c)
					}
					return in, nil
				}}}
			})
			s.cluster(t, "edge-1")
			s.cluster(t, "edge-2")
			tt.now(t, s)
			b := s.binding(t, "web", "edge-1")
			stagetest.Change(t, s, b, func() { // the stage may evict it first
				b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{
					FromCluster: "edge-1", Replicas: new(int32(2)), PurgeMode: policyv1alpha1.PurgeGracefully, CreationTimestamp: &metav1.Time{Time: time.Now()},
					Producer: workv1alpha2.ProducerTaintManager, Reason: workv1alpha2.EvictionTaintUntolerated,
				}}
				s.g.Expect(evictions.Set(b, []workv1alpha2.Eviction{{From: "edge-1", Before: []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 2}}}})).To(Succeed())
				b.Spec.Clusters = tt.targets
			})
			s.scheduled(t, b, workv1alpha1.Healthy, tt.targets...)
			s.g.Eventually(read.Load).WithTimeout(stagetest.Timeout).Should(BeNumerically(">", 4), "it looks again and again")
			s.g.Expect(s.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
			s.g.Expect(b.Spec.Clusters).To(Equal(tt.targets))
			s.g.Expect(b.Spec.GracefulEvictionTasks).To(HaveLen(1))
		})
	}
}

package scheduler_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/stagetest"
)

// behind has another scheduler take over, whose cache shows objects of one kind as they were, whatever became of them since. It
// returns how often that reads what is at a path live.
func (w *world) behind(t *testing.T, kind client.Object, shows cache.ByObject, path string) *atomic.Int64 {
	t.Helper()
	w.stop()
	read := &atomic.Int64{}
	config := w.config
	w.config = stagetest.Intercept(config, func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, path) && r.URL.Query().Get("watch") == "" {
			read.Add(1)
		}
		return nil, nil
	})
	w.stop = w.run(t, func(o *manager.Options) { o.Cache.ByObject[kind] = shows })
	w.config = config
	return read
}

// showing makes a cache show modified objects.
func showing[O client.Object](as func(O)) cache.ByObject {
	return cache.ByObject{Transform: func(in any) (any, error) {
		if obj, ok := in.(O); ok {
			as(obj)
		}
		return in, nil
	}}
}

// without makes a cache hide the clusters with a label.
func without(key string) cache.ByObject {
	selector, err := labels.Parse("!" + key)
	if err != nil {
		panic(err)
	}
	return cache.ByObject{Label: selector}
}

// placedIn returns applications that are in the clusters of a site: one that goes everywhere, one that is divided, and, if the
// namespace says which clusters may be used, one that others place.
func (w *world) placedIn(t *testing.T, site string, also ...string) []*workv1alpha2.ResourceBinding {
	t.Helper()
	g := NewWithT(t)
	for _, name := range []string{site + "-1", site + "-2"} {
		c := w.join(t, name, site)
		change(t, w, c, func(c *clusterv1alpha1.Cluster) { c.Labels["team"], c.Labels[name] = "fish", "" })
		w.reports(t, c, "50")
		// Only a complete list of APIs says what a cluster does not serve.
		stagetest.ChangeStatus(t, w.hub, c, func() {
			meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
				Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: metav1.ConditionTrue, Reason: "Complete",
			})
		})
		t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), c) }) // other tests count clusters
	}
	divided := w.binding("divided", site)
	divided.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided}
	out := []*workv1alpha2.ResourceBinding{w.binding("everywhere", site), divided}
	for _, name := range also {
		b := w.binding(name, site)
		b.Spec.SchedulerName = "another"
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: site + "-1", Replicas: 2}, {Name: site + "-2", Replicas: 2}}
		out = append(out, b)
	}
	for _, b := range out {
		g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
		t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), b) })
		g.Eventually(func() []string { return w.where(t, b) }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{site + "-1", site + "-2"}))
	}
	return out
}

// where returns the clusters of a binding, and those that it leaves.
func (w *world) where(t *testing.T, b *workv1alpha2.ResourceBinding) []string {
	t.Helper()
	out := []string{}
	for _, target := range read(t, w, b).Spec.Clusters {
		out = append(out, target.Name)
	}
	for _, task := range b.Spec.GracefulEvictionTasks {
		out = append(out, "leaves "+task.FromCluster)
	}
	return out
}

// TestAHubThatDoesNotSeeWhatThereIsTakesNothingAway has a scheduler take over whose cache is older than the last writes of the one before.
func TestAHubThatDoesNotSeeWhatThereIsTakesNothingAway(t *testing.T) {
	cluster := func(site string, as func(*clusterv1alpha1.Cluster)) cache.ByObject {
		return showing(func(c *clusterv1alpha1.Cluster) {
			if c.Name == site+"-1" {
				as(c)
			}
		})
	}
	tests := map[string]struct {
		site string
		// says is what the namespace says of the clusters that may be used; nil is nothing.
		says  *string
		kind  client.Object
		shows func(site, namespace string) cache.ByObject
		// reads is the kind of what is read live.
		reads string
	}{
		"a cluster joined": {
			site: "joined", kind: &clusterv1alpha1.Cluster{}, reads: "clusters",
			shows: func(site, _ string) cache.ByObject { return without(site + "-1") },
		},
		"a cluster has other labels": {
			site: "labeled", kind: &clusterv1alpha1.Cluster{}, reads: "clusters",
			shows: func(site, _ string) cache.ByObject {
				return cluster(site, func(c *clusterv1alpha1.Cluster) { c.Labels["site"] = "museum" })
			},
		},
		"a cluster serves the kind": {
			site: "serving", kind: &clusterv1alpha1.Cluster{}, reads: "clusters",
			shows: func(site, _ string) cache.ByObject {
				return cluster(site, func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = c.Status.APIEnablements[1:] })
			},
		},
		"the namespace may use a cluster by a label": {
			site: "teamed", says: new("team=fish"), kind: &clusterv1alpha1.Cluster{}, reads: "clusters",
			shows: func(site, _ string) cache.ByObject {
				return cluster(site, func(c *clusterv1alpha1.Cluster) { c.Labels["team"] = "meat" })
			},
		},
		"the namespace may use more clusters": {
			site: "allowed", says: new("team=fish"), kind: &corev1.Namespace{}, reads: "namespaces",
			shows: func(site, namespace string) cache.ByObject {
				return showing(func(ns *corev1.Namespace) {
					if ns.Name == namespace {
						metav1.SetMetaDataAnnotation(&ns.ObjectMeta, contract.ClustersAnnotation, site+"-2")
					}
				})
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g, w := NewWithT(t), start(t)
			var others []string
			if tt.says != nil {
				w.mayUse(t, tt.says)
				others = []string{"ofothers"}
			}
			all := w.placedIn(t, tt.site, others...)
			path := "/clusters/" + tt.site + "-1"
			if tt.reads == "namespaces" {
				path = "/namespaces/" + w.namespace
			}
			looked := w.behind(t, tt.kind, tt.shows(tt.site, w.namespace), path)
			g.Eventually(looked.Load, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">=", 4*len(all)), "it looks again and again")
			for _, b := range all {
				g.Expect(w.where(t, b)).To(Equal([]string{tt.site + "-1", tt.site + "-2"}), b.Name)
			}
			w.stop()
			w.stop = w.run(t)
			change(t, w, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: tt.site + "-1"}}, func(c *clusterv1alpha1.Cluster) {
				c.Labels["site"], c.Labels["team"] = "museum", "meat"
			})
			want := []string{tt.site + "-2"}
			if tt.says != nil {
				want = append(want, "leaves "+tt.site+"-1")
			}
			for _, b := range all {
				g.Eventually(func() []string { return w.where(t, b) }, stagetest.Timeout, stagetest.Poll).Should(Equal(want), b.Name)
			}
		})
	}
}

// TestManyClustersAreListedBeforeTheyAreLeft checks the same for an application that leaves more than readSingly clusters.
func TestManyClustersAreListedBeforeTheyAreLeft(t *testing.T) {
	g, w := NewWithT(t), start(t)
	var names []string
	for i := range 24 {
		name := fmt.Sprintf("crowd-%02d", i)
		c := w.join(t, name, "crowd")
		change(t, w, c, func(c *clusterv1alpha1.Cluster) { c.Labels["crowded"] = "" })
		t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), c) }) // other tests count clusters
		names = append(names, name)
	}
	b := w.binding("web", "crowd")
	g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), b) })
	where := func() []string { return w.where(t, b) }
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal(names))

	listed := w.behind(t, &clusterv1alpha1.Cluster{}, without("crowded"), "/clusters")
	g.Eventually(listed.Load, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 3), "beside the list of the cache")
	g.Expect(where()).To(Equal(names))

	w.stop()
	w.stop = w.run(t)
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Placement.ClusterAffinity = bySite("nowhere") })
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(BeEmpty())
}

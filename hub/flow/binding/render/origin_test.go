package render_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/binding/render"
	"fairlead.dev/test/builder"
)

// story is everything that a Work is rendered from.
type story struct {
	origin  render.Origin
	target  *workv1alpha2.TargetCluster
	cluster *clusterv1alpha1.Cluster
	work    *workv1alpha1.Work
}

func (s story) digest(t *testing.T) string {
	t.Helper()
	d, err := s.origin.Digest()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return d.Of(s.work, *s.target, s.cluster)
}

func TestOriginCoversEveryInput(t *testing.T) {
	t.Parallel()
	of := func(change func(*story, *workv1alpha2.ResourceBinding)) string {
		b := binding(func(*workv1alpha2.ResourceBinding) {})
		s := story{
			origin:  render.Origin{Program: "p", Template: "t", Rules: "r", Binding: b, Overrides: []string{"o 1"}},
			target:  &b.Spec.Clusters[0],
			cluster: builder.MakeCluster("edge-1").Region("north").Obj(),
			work: &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
				Namespace: "karmada-es-edge-1", Name: "foo", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{contract.ManifestHashAnnotation: "h"},
			}},
		}
		change(&s, b)
		return s.digest(t)
	}
	same := of(func(*story, *workv1alpha2.ResourceBinding) {})
	for name, change := range map[string]func(*story, *workv1alpha2.ResourceBinding){
		"the program":               func(s *story, _ *workv1alpha2.ResourceBinding) { s.origin.Program = "q" },
		"the template":              func(s *story, _ *workv1alpha2.ResourceBinding) { s.origin.Template = "u" },
		"the rules":                 func(s *story, _ *workv1alpha2.ResourceBinding) { s.origin.Rules = "s" },
		"an override policy":        func(s *story, _ *workv1alpha2.ResourceBinding) { s.origin.Overrides = []string{"o 2"} },
		"no override policy":        func(s *story, _ *workv1alpha2.ResourceBinding) { s.origin.Overrides = nil },
		"a label of the cluster":    func(s *story, _ *workv1alpha2.ResourceBinding) { s.cluster.Labels = map[string]string{"a": "b"} },
		"its region":                func(s *story, _ *workv1alpha2.ResourceBinding) { s.cluster.Spec.Region = "south" },
		"its provider":              func(s *story, _ *workv1alpha2.ResourceBinding) { s.cluster.Spec.Provider = "us" },
		"its zones":                 func(s *story, _ *workv1alpha2.ResourceBinding) { s.cluster.Spec.Zones = []string{"z"} },
		"a label of the Work":       func(s *story, _ *workv1alpha2.ResourceBinding) { s.work.Labels["l"] = "2" },
		"an annotation of the Work": func(s *story, _ *workv1alpha2.ResourceBinding) { s.work.Annotations["more"] = "2" },
		"the hash of the manifest": func(s *story, _ *workv1alpha2.ResourceBinding) {
			s.work.Annotations[contract.ManifestHashAnnotation] = "i"
		},
		"the name of the Work": func(s *story, _ *workv1alpha2.ResourceBinding) { s.work.Name = "bar" },
		"the id of the binding": func(_ *story, b *workv1alpha2.ResourceBinding) {
			b.Labels[contract.ResourceBindingPermanentIDLabel] = "b-2"
		},
		"the share of the cluster": func(_ *story, b *workv1alpha2.ResourceBinding) { b.Spec.Clusters[0].Replicas++ },
		"all replicas":             func(_ *story, b *workv1alpha2.ResourceBinding) { b.Spec.Replicas++ },
		"the conflict resolution": func(_ *story, b *workv1alpha2.ResourceBinding) {
			b.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
		},
		"suspension of the cluster": func(_ *story, b *workv1alpha2.ResourceBinding) { b.Spec.Suspension = suspended("edge-1") },
		"the preserved state of the former copy": func(_ *story, b *workv1alpha2.ResourceBinding) {
			b.Spec.Clusters, b.Spec.GracefulEvictionTasks = b.Spec.Clusters[:1], []workv1alpha2.GracefulEvictionTask{{
				FromCluster: "edge-9", PurgeMode: policyv1alpha1.PurgeDirectly, PreservedLabelState: map[string]string{"point": "1"},
			}}
		},
		"preservation in the cluster":  func(_ *story, b *workv1alpha2.ResourceBinding) { b.Spec.PreservedIn = []string{"edge-1"} },
		"a quota":                      func(s *story, _ *workv1alpha2.ResourceBinding) { s.origin.Quota = &render.Quota{} },
		"preservation in all clusters": func(_ *story, b *workv1alpha2.ResourceBinding) { b.Spec.PreserveResourcesOnDeletion = new(true) },
	} {
		NewWithT(t).Expect(of(change)).NotTo(Equal(same), name)
	}
	for name, change := range map[string]func(*workv1alpha2.ResourceBinding){
		"the share of another cluster":              func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters[1].Replicas++ },
		"an additional cluster":                     func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = append(b.Spec.Clusters, targets("edge-3")...) },
		"a cluster less":                            func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = b.Spec.Clusters[:1] },
		"workloads that need it in another cluster": func(b *workv1alpha2.ResourceBinding) { b.Spec.RequiredBy = required("edge-3") },
		"a graceful eviction from another cluster":  func(b *workv1alpha2.ResourceBinding) { b.Spec.GracefulEvictionTasks = leaving("edge-9") },
		"preservation in another cluster":           func(b *workv1alpha2.ResourceBinding) { b.Spec.PreservedIn = []string{"edge-9"} },
		"suspension of another cluster":             func(b *workv1alpha2.ResourceBinding) { b.Spec.Suspension = suspended("edge-2") },
		"a request for rescheduling":                func(b *workv1alpha2.ResourceBinding) { b.Spec.RescheduleTriggeredAt = new(metav1.Now()) },
	} {
		NewWithT(t).Expect(of(func(_ *story, b *workv1alpha2.ResourceBinding) { change(b) })).To(Equal(same), name+" is no matter")
	}
	NewWithT(t).Expect(of(func(s *story, _ *workv1alpha2.ResourceBinding) {
		s.work.Annotations[contract.RenderedFromAnnotation] = same
	})).To(Equal(same), "the mark does not depend on itself")
	bounded := func(change func(*render.Quota, *workv1alpha2.ResourceBinding)) string {
		return of(func(s *story, b *workv1alpha2.ResourceBinding) {
			b.Spec.Replicas, b.Spec.ReplicaRequirements = 0, nil
			s.origin.Quota = &render.Quota{Resources: []corev1.ResourceName{"cpu"}, Admitted: "{}"}
			change(s.origin.Quota, b)
		})
	}
	for name, change := range map[string]func(*render.Quota, *workv1alpha2.ResourceBinding){
		"the resources of the quota": func(q *render.Quota, _ *workv1alpha2.ResourceBinding) {
			q.Resources = []corev1.ResourceName{"cpu", "memory"}
		},
		"the admitted requests":                         func(q *render.Quota, _ *workv1alpha2.ResourceBinding) { q.Admitted = `{"requests":{"cpu":"1"}}` },
		"the share of an object that is not a workload": func(_ *render.Quota, b *workv1alpha2.ResourceBinding) { b.Spec.Clusters[0].Replicas++ },
		"the requests of the binding": func(_ *render.Quota, b *workv1alpha2.ResourceBinding) {
			b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{}
		},
	} {
		NewWithT(t).Expect(bounded(change)).NotTo(Equal(bounded(func(*render.Quota, *workv1alpha2.ResourceBinding) {})), name)
	}
	plain := func(change func(*story)) string {
		return of(func(s *story, _ *workv1alpha2.ResourceBinding) {
			s.origin.Overrides = nil
			change(s)
		})
	}
	NewWithT(t).Expect(plain(func(s *story) { s.cluster.Spec.Region = "south" })).To(Equal(plain(func(*story) {})), "properties of the cluster do not matter without overrides")
}

func targets(clusters ...string) []workv1alpha2.TargetCluster {
	var out []workv1alpha2.TargetCluster
	for _, name := range clusters {
		out = append(out, workv1alpha2.TargetCluster{Name: name, Replicas: 1})
	}
	return out
}

func required(clusters ...string) []workv1alpha2.BindingSnapshot {
	return []workv1alpha2.BindingSnapshot{{Namespace: "default", Name: "web-deployment", Clusters: targets(clusters...)}}
}

func leaving(clusters ...string) []workv1alpha2.GracefulEvictionTask {
	var out []workv1alpha2.GracefulEvictionTask
	for _, name := range clusters {
		out = append(out, workv1alpha2.GracefulEvictionTask{FromCluster: name, PurgeMode: policyv1alpha1.PurgeGracefully})
	}
	return out
}

func suspended(clusters ...string) *workv1alpha2.Suspension {
	return &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{
		DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: clusters},
	}}
}

// TestOriginDeterminesWork renders random bindings. If the Works differ, the origins must differ. The Works that are passed to Of are empty,
// so that the difference comes from the binding.
func TestOriginDeterminesWork(t *testing.T) {
	t.Parallel()
	for name, template := range map[string]*unstructured.Unstructured{
		"a workload": deployment(), "what shares completions": job(), "what has no replicas": configMap(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			random := rand.New(rand.NewPCG(11, 26))
			rendered, specs := map[string]string{}, map[string]map[string]bool{}
			same := input(func(in *render.Input) { in.Template = template })
			for range 1500 {
				b := anyBinding(random, template)
				said, err := json.Marshal(b.Spec)
				g.Expect(err).NotTo(HaveOccurred())
				digest, err := render.Origin{Program: "p", Template: "t", Binding: b}.Digest()
				g.Expect(err).NotTo(HaveOccurred())
				for _, target := range bindings.Targets(&b.Spec) {
					in := same
					in.Binding, in.Target = b, target
					work, err := render.Work(in)
					g.Expect(err).NotTo(HaveOccurred())
					whole, err := json.Marshal(work)
					g.Expect(err).NotTo(HaveOccurred())
					mark := digest.Of(&workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: work.Namespace, Name: work.Name}}, target, nil)
					if before, ok := rendered[mark]; ok {
						g.Expect(string(whole)).To(Equal(before), string(said))
					}
					if specs[mark] == nil {
						specs[mark] = map[string]bool{}
					}
					rendered[mark], specs[mark][string(said)] = string(whole), true
				}
			}
			shared := 0
			for _, of := range specs {
				if len(of) > 1 {
					shared++
				}
			}
			g.Expect(shared).To(BeNumerically(">", 50), "different bindings with Works of the same origin")
			g.Expect(len(specs)).To(BeNumerically(">", 50))
		})
	}
}

// anyBinding returns a binding of a template with random fields.
func anyBinding(random *rand.Rand, template *unstructured.Unstructured) *workv1alpha2.ResourceBinding {
	yes := func() bool { return random.IntN(2) == 0 }
	rarely := func() bool { return random.IntN(5) == 0 }
	some := func() []workv1alpha2.TargetCluster {
		var out []workv1alpha2.TargetCluster
		for _, i := range random.Perm(3)[:random.IntN(4)] {
			out = append(out, workv1alpha2.TargetCluster{Name: fmt.Sprint("edge-", i), Replicas: int32(random.IntN(3))})
		}
		return out
	}
	names := func() []string {
		var out []string
		for _, target := range some() {
			out = append(out, target.Name)
		}
		return out
	}
	maybe := func() *bool { return []*bool{nil, new(true), new(false)}[random.IntN(3)] }
	b := binding(nil)
	b.Spec = workv1alpha2.ResourceBindingSpec{Clusters: some(), Resource: workv1alpha2.ObjectReference{
		APIVersion: template.GetAPIVersion(), Kind: template.GetKind(), Namespace: template.GetNamespace(), Name: template.GetName(),
	}}
	if template.GetKind() != "ConfigMap" {
		b.Spec.Replicas = int32(random.IntN(2))
		b.Spec.Placement = &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: []policyv1alpha1.ReplicaSchedulingType{policyv1alpha1.Duplicated, policyv1alpha1.Divided}[random.IntN(2)],
		}}
	}
	for range random.IntN(3) {
		b.Spec.RequiredBy = append(b.Spec.RequiredBy, workv1alpha2.BindingSnapshot{Namespace: "default", Name: fmt.Sprint("web-", random.IntN(2)), Clusters: some(), Preserve: maybe()})
	}
	for range random.IntN(3) {
		task := workv1alpha2.GracefulEvictionTask{
			FromCluster: fmt.Sprint("edge-", random.IntN(5)), ClustersBeforeFailover: names(),
			PurgeMode: []policyv1alpha1.PurgeMode{policyv1alpha1.PurgeDirectly, policyv1alpha1.PurgeGracefully}[random.IntN(2)],
		}
		if yes() {
			task.PreservedLabelState = map[string]string{"point": fmt.Sprint(random.IntN(2))}
		}
		b.Spec.GracefulEvictionTasks = append(b.Spec.GracefulEvictionTasks, task)
	}
	if rarely() {
		b.Spec.PreservedIn = names()
	}
	if rarely() {
		b.Spec.PreserveResourcesOnDeletion = maybe()
	}
	if rarely() {
		b.Spec.Suspension = suspended(names()...)
		b.Spec.Suspension.Dispatching, b.Spec.Suspension.Scheduling = maybe(), maybe()
	}
	if rarely() {
		b.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
	}
	if rarely() {
		b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{}
	}
	if rarely() {
		b.Spec.RescheduleTriggeredAt = new(metav1.NewTime(time.Unix(int64(random.IntN(2)), 0)))
	}
	return b
}

func job() *unstructured.Unstructured {
	out := deployment()
	out.SetAPIVersion("batch/v1")
	out.SetKind("Job")
	out.Object["spec"] = map[string]any{"completions": int64(7), "parallelism": int64(5)}
	return out
}

func configMap() *unstructured.Unstructured {
	out := deployment()
	out.SetAPIVersion("v1")
	out.SetKind("ConfigMap")
	delete(out.Object, "spec")
	out.Object["data"] = map[string]any{"k": "v"}
	return out
}

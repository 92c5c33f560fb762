package apiserver

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/cluster"
)

// agentWithEveryRight returns a client of an agent that RBAC allows everything, so that only the admission policies
// restrict it.
func agentWithEveryRight(t *testing.T, hub *cluster.Cluster) client.Client {
	t.Helper()
	g := NewWithT(t)
	err := hub.Client(t).Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-agents-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: contract.AgentGroup}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	cfg := rest.CopyConfig(hub.Config)
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: contract.AgentUser("edge-1"), Groups: []string{contract.AgentGroup, "system:authenticated"},
	}
	s, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	agent, err := client.New(cfg, client.Options{Scheme: s})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error { return agent.List(t.Context(), &workv1alpha1.WorkList{}, client.Limit(1)) }).
		WithTimeout(time.Minute).Should(Succeed(), "RBAC takes a moment to see the binding")
	return agent
}

func TestRightsOfAnAgentOnAWork(t *testing.T) {
	t.Parallel()
	hub := installedHub(t)
	agent := agentWithEveryRight(t, hub)
	hubClient := hub.Client(t)
	ns := hub.Namespace(t)
	manifest := func(name string) workv1alpha1.Manifest {
		return workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"},"data":{"key":"value"}}`)}}
	}
	fresh := func(t *testing.T) *workv1alpha1.Work {
		t.Helper()
		work := &workv1alpha1.Work{
			ObjectMeta: metav1.ObjectMeta{
				GenerateName: "work-", Namespace: ns,
				Labels:      map[string]string{contract.WorkPermanentIDLabel: "1"},
				Annotations: map[string]string{contract.ManifestHashAnnotation: "1"},
				Finalizers:  []string{contract.ExecutionFinalizer},
			},
			Spec: workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{Manifests: []workv1alpha1.Manifest{manifest("a")}}},
		}
		NewWithT(t).Expect(hubClient.Create(t.Context(), work)).To(Succeed())
		return work
	}

	t.Run("its finalizers change", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		work := fresh(t)
		work.Finalizers = nil
		g.Expect(agent.Update(t.Context(), work)).To(Succeed())
		g.Expect(work.Finalizers).To(BeEmpty())
	})
	t.Run("its status changes", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		work := fresh(t)
		work.Status.Conditions = []metav1.Condition{{Type: "Applied", Status: metav1.ConditionTrue, Reason: "Applied", LastTransitionTime: metav1.Now()}}
		g.Expect(agent.Status().Update(t.Context(), work)).To(Succeed())
		g.Expect(work.Status.Conditions).To(HaveLen(1))
	})
	t.Run("a status write changes nothing else", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		work := fresh(t)
		work.Labels["mine"] = "true"
		work.Finalizers = nil
		work.Spec.Workload.Manifests = nil
		g.Expect(agent.Status().Update(t.Context(), work)).To(Succeed())
		g.Expect(work.Labels).NotTo(HaveKey("mine"))
		g.Expect(work.Finalizers).NotTo(BeEmpty())
		g.Expect(work.Spec.Workload.Manifests).To(HaveLen(1))
	})
	tests := map[string]struct {
		change    func(*workv1alpha1.Work)
		wantField string
	}{
		"its manifests do not change": {
			func(w *workv1alpha1.Work) { w.Spec.Workload.Manifests[0] = manifest("b") }, "spec",
		},
		"its manifests do not vanish": {
			func(w *workv1alpha1.Work) { w.Spec.Workload.Manifests = nil }, "spec",
		},
		"its labels do not change": {
			func(w *workv1alpha1.Work) { w.Labels[contract.WorkPermanentIDLabel] = "2" }, "metadata.labels",
		},
		"its labels do not vanish": {
			func(w *workv1alpha1.Work) { w.Labels = nil }, "metadata.labels",
		},
		"its annotations do not grow": {
			func(w *workv1alpha1.Work) { w.Annotations["mine"] = "true" }, "metadata.annotations",
		},
		"it is not held for ever": {
			func(w *workv1alpha1.Work) { w.Finalizers = append(w.Finalizers, "example.com/mine") }, "metadata.finalizers",
		},
		"it gets no owner": {
			func(w *workv1alpha1.Work) {
				w.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "1"}}
			}, "metadata.ownerReferences",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := fresh(t)
			tc.change(work)
			expectRefused(t, agent.Update(t.Context(), work), tc.wantField, work.Name)
		})
	}
	t.Run("it is not deleted", func(t *testing.T) {
		t.Parallel()
		work := fresh(t)
		expectRefused(t, agent.Delete(t.Context(), work), "delete", work.Name)
	})
	t.Run("none is created", func(t *testing.T) {
		t.Parallel()
		work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Name: "of-an-agent", Namespace: ns}}
		expectRefused(t, agent.Create(t.Context(), work), "create", work.Name)
	})
}

func TestRightsOfAnAgentOnACluster(t *testing.T) {
	t.Parallel()
	hub := installedHub(t)
	agent := agentWithEveryRight(t, hub)
	hubClient := hub.Client(t)
	fresh := func(t *testing.T) *clusterv1alpha1.Cluster {
		t.Helper()
		c := &clusterv1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "edge-", Finalizers: []string{contract.ClusterFinalizer}},
			Spec:       clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull},
		}
		NewWithT(t).Expect(hubClient.Create(t.Context(), c)).To(Succeed())
		return c
	}

	t.Run("its status changes", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		c := fresh(t)
		c.Status.KubernetesVersion = "v1.36.3"
		g.Expect(agent.Status().Update(t.Context(), c)).To(Succeed())
		g.Expect(c.Status.KubernetesVersion).To(Equal("v1.36.3"))
	})
	silent := metav1.Condition{
		Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionUnknown, Reason: clusterv1alpha1.ReasonClusterStatusUnknown,
		LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute)),
	}
	suspended := metav1.Condition{
		Type: clusterv1alpha1.ClusterEvictionSuspended, Status: metav1.ConditionTrue, Reason: workv1alpha2.ReasonHubSuspectsItself, LastTransitionTime: metav1.Now(),
	}
	told := func(t *testing.T) *clusterv1alpha1.Cluster {
		t.Helper()
		c := fresh(t)
		c.Status.Conditions = []metav1.Condition{silent, suspended}
		NewWithT(t).Expect(hubClient.Status().Update(t.Context(), c)).To(Succeed())
		return c
	}
	t.Run("what the hub says of it is kept", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		c := told(t)
		c.Status.KubernetesVersion = "v1.36.3"
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionTrue, Reason: "TooManyDeletions"})
		g.Expect(agent.Status().Update(t.Context(), c)).To(Succeed())
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue, Reason: "ClusterReady"})
		g.Expect(agent.Status().Update(t.Context(), c)).To(Succeed())
		g.Expect(c.Status.Conditions).To(HaveLen(3))
	})
	for name, tc := range map[string]struct {
		change    func(*clusterv1alpha1.Cluster)
		wantField string
	}{
		"it is not silent since another time": {
			func(c *clusterv1alpha1.Cluster) { c.Status.Conditions[0].LastTransitionTime = metav1.Now() }, "status.conditions[Ready]",
		},
		"it is not silent for another reason": {
			func(c *clusterv1alpha1.Cluster) {
				c.Status.Conditions[0].Reason = clusterv1alpha1.ReasonClusterStatusNeverUpdated
			}, "status.conditions[Ready]",
		},
		"what the hub suspects does not change": {
			func(c *clusterv1alpha1.Cluster) {
				c.Status.Conditions[1].Reason = workv1alpha2.ReasonOthersAreBack
			}, "status.conditions[EvictionSuspended]",
		},
		"what the hub suspects does not vanish": {
			func(c *clusterv1alpha1.Cluster) { c.Status.Conditions = c.Status.Conditions[:1] }, "status.conditions[EvictionSuspended]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := told(t)
			tc.change(c)
			expectRefused(t, agent.Status().Update(t.Context(), c), tc.wantField, c.Name)
		})
	}
	t.Run("it does not say that it is silent", func(t *testing.T) {
		t.Parallel()
		c := fresh(t)
		c.Status.Conditions = []metav1.Condition{silent}
		expectRefused(t, agent.Status().Update(t.Context(), c), "status.conditions[Ready]", c.Name)
	})
	tests := map[string]struct {
		change    func(*clusterv1alpha1.Cluster)
		wantField string
	}{
		"its region does not change": {
			func(c *clusterv1alpha1.Cluster) { c.Spec.Region = "here" }, "spec",
		},
		"its taints do not change": {
			func(c *clusterv1alpha1.Cluster) {
				c.Spec.Taints = []corev1.Taint{{Key: "mine", Effect: corev1.TaintEffectNoSchedule}}
			}, "spec",
		},
		"its labels do not change": {
			func(c *clusterv1alpha1.Cluster) { c.Labels = map[string]string{"tier": "gold"} }, "metadata.labels",
		},
		"its annotations do not change": {
			func(c *clusterv1alpha1.Cluster) {
				c.Annotations = map[string]string{contract.ExecutionNamespaceAnnotation: "karmada-es-edge-2"}
			}, "metadata.annotations",
		},
		"its finalizers do not change": {
			func(c *clusterv1alpha1.Cluster) { c.Finalizers = nil }, "metadata.finalizers",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fresh(t)
			tc.change(c)
			expectRefused(t, agent.Update(t.Context(), c), tc.wantField, c.Name)
		})
	}
	t.Run("it is not deleted", func(t *testing.T) {
		t.Parallel()
		c := fresh(t)
		expectRefused(t, agent.Delete(t.Context(), c), "delete", c.Name)
	})
}

// expectRefused expects the refusal of what an agent tried to do to an object.
func expectRefused(t *testing.T, err error, what, name string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(client.IgnoreAlreadyExists(err)).To(HaveOccurred())
	g.Expect(err.Error()).To(And(ContainSubstring("an agent may not"), ContainSubstring(" "+what+" "), ContainSubstring(name)))
}

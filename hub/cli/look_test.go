package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
)

// poll is how often tests check again.
const poll = 50 * time.Millisecond

// lookout is a hub with the objects that its stages and three agents would have written: edge-1 is healthy, edge-2 is
// silent, edge-3 refuses the Deployment default/web, which all of them should have.
type lookout struct {
	*WithT
	t   *testing.T
	hub *cluster.Cluster
	c   client.Client
	env map[string]string
}

func newLookout(t *testing.T) *lookout {
	t.Helper()
	hub := cluster.Start(t, cluster.Options{Name: "look"})
	l := &lookout{WithT: NewWithT(t), t: t, hub: hub, c: hub.Client(t), env: map[string]string{"KUBECONFIG": hub.Kubeconfig}}
	stays := selector.NewExclusions("karmada-es-", []*regexp.Regexp{regexp.MustCompile("kube-.*")}, selector.SkippedKinds{})
	l.Expect(apiserver.Install(t.Context(), hub.Config, apiserver.Options{Exclusions: &stays})).To(Succeed())
	l.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}})
	for name, ready := range map[string]metav1.ConditionStatus{"edge-1": metav1.ConditionTrue, "edge-2": metav1.ConditionUnknown, "edge-3": metav1.ConditionTrue} {
		l.cluster(name, ready)
	}
	policy := builder.MakePolicy("default", "web").Select("apps/v1", "Deployment", "web").Obj()
	idle := builder.MakePolicy("default", "idle").Select("apps/v1", "Deployment", "absent").Obj()
	template := builder.MakeDeployment("default", "web").Replicas(2).Obj()
	by := claim.Claim{Namespace: "default", Name: "web", ID: "5f0a36d5-4ab5-4ae1-a4e4-3e5a8e7c1f10"}
	claim.Set(template, by)
	override := builder.MakeOverride("default", "web").Select("apps/v1", "Deployment", "web").Replace("edge-3", "/spec/replicas", 5).Obj()
	l.create(policy, idle, template, override, builder.MakeConfigMap("default", "alone", "k", "v").Obj())
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web-deployment",
			Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: "0c6ab1a2-6f0e-4a52-93f1-2d2f7a6c1b11"},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "web", UID: template.GetUID()},
			Replicas: 2, Placement: &policy.Spec.Placement,
			Clusters: []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 2}, {Name: "edge-2", Replicas: 2}, {Name: "edge-3", Replicas: 2}},
		},
	}
	claim.Set(b, by)
	l.create(b)
	b.Status.SchedulerObservedGeneration = b.Generation
	b.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.BindingScheduled, Status: metav1.ConditionTrue, Reason: "Success", LastTransitionTime: metav1.Now()}}
	b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{
		{ClusterName: "edge-1", Applied: true, Health: workv1alpha1.Healthy},
		{ClusterName: "edge-2", Applied: true, Health: workv1alpha1.Healthy},
		{ClusterName: "edge-3", AppliedMessage: "denied by a webhook"},
	}
	l.Expect(l.c.Status().Update(t.Context(), b)).To(Succeed())
	l.send()
	return l
}

func (l *lookout) create(objects ...client.Object) {
	l.t.Helper()
	for _, obj := range objects {
		// A CRD that was just installed may not be served yet.
		l.Eventually(func() error { return client.IgnoreAlreadyExists(l.c.Create(l.t.Context(), obj)) }, waitTimeout, poll).Should(Succeed())
	}
}

func (l *lookout) cluster(name string, ready metav1.ConditionStatus) {
	l.t.Helper()
	c := builder.MakeCluster(name).Region("north").Obj()
	l.create(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "karmada-es-" + name}})
	c.Status.KubernetesVersion = "v1.36.3"
	c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: ready, Reason: "x", Message: "said so", LastTransitionTime: metav1.Now()}}
	if ready == metav1.ConditionUnknown {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: clusterv1alpha1.ClusterCapacityUnknown, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonReadForbidden, LastTransitionTime: metav1.Now(),
		})
	}
	c.Status.NodeSummary = &clusterv1alpha1.NodeSummary{TotalNum: 2, ReadyNum: 2}
	c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("110")},
		Allocated:   corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("15Gi"), "pods": resource.MustParse("11")},
	}
	if name == "edge-3" {
		c.Status.ResourceSummary.Allocated["cpu"] = resource.MustParse("6")
	}
	l.Expect(l.c.Status().Update(l.t.Context(), c)).To(Succeed())
	renewed := metav1.NewMicroTime(time.Now().Add(-31 * time.Minute)) // so long ago that the minute in which it is shown does not matter
	l.create(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: name}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed},
	})
}

// send creates the Works as the hub would, with the status that the agents would report.
func (l *lookout) send() {
	l.t.Helper()
	reader, err := view.New(l.c, l.c.RESTMapper(), watchset.NewServedKinds(nil, clock.RealClock{}), clock.RealClock{})
	l.Expect(err).NotTo(HaveOccurred())
	rows, err := reader.Rendered(l.t.Context(), view.Ref{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "default", Name: "web",
	})
	l.Expect(err).NotTo(HaveOccurred())
	l.Expect(rows).To(HaveLen(3))
	for _, row := range rows {
		w := row.Desired
		l.create(w)
		applied := metav1.Condition{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, Reason: "x", ObservedGeneration: w.Generation, LastTransitionTime: metav1.Now()}
		if row.Cluster == "edge-3" {
			applied.Status, applied.Message = metav1.ConditionFalse, "denied by a webhook"
		} else {
			w.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{
				Identifier: workv1alpha1.ResourceIdentifier{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "default", Name: "web"},
				Health:     workv1alpha1.Healthy, Status: &runtime.RawExtension{Raw: []byte(`{"replicas":2,"readyReplicas":2}`)},
			}}
		}
		w.Status.Conditions = []metav1.Condition{applied}
		l.Expect(l.c.Status().Update(l.t.Context(), w)).To(Succeed())
		l.create(&corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: w.Namespace, Name: "e-" + row.Cluster},
			InvolvedObject: corev1.ObjectReference{Kind: "Work", Namespace: w.Namespace, Name: w.Name},
			Type:           map[bool]string{true: "Warning", false: "Normal"}[row.Cluster == "edge-3"], Reason: "Synced", Message: "about " + row.Cluster,
			LastTimestamp: metav1.Now(),
		})
	}
}

// run runs a command, and returns its standard output and standard error.
func (l *lookout) run(status int, args ...string) (out, err string) {
	l.t.Helper()
	e := execution{env: l.env}
	l.Expect(e.run(l.t.Context(), args...)).To(Equal(status), e.err.String()+e.out.String())
	return e.out.String(), e.err.String()
}

func TestCommandsThatLook(t *testing.T) {
	t.Parallel()
	l := newLookout(t)

	t.Run("get", func(t *testing.T) {
		g := NewWithT(t)
		out, said := l.run(ExitDone, "get")
		g.Expect(out).To(MatchRegexp(`default +deployment/web +pp/web +1/3 +2 +2 +1 +Failing +\S+ +edge-3: denied by a webhook`))
		g.Expect(said).To(Equal("PropagationPolicy default/idle: It has no objects. There is no Deployment absent in namespace default on the hub.\n"))
		out, _ = l.run(ExitDone, "get", "deploy/web")
		g.Expect(out).To(MatchRegexp(`edge-2 +Stale +2 +yes +Healthy +The cluster has not been heard from since`))
		g.Expect(out).To(MatchRegexp(`edge-3 +Failing +2 +no +- +denied by a webhook`))
		out, said = l.run(ExitNo, "get", "-A", "--check", "-o", "json")
		g.Expect(said).To(Equal("Error: 1 of 1 applications are not healthy\n"))
		var list struct {
			Items []map[string]any `json:"items"`
		}
		g.Expect(json.Unmarshal([]byte(out), &list)).To(Succeed())
		g.Expect(list.Items).To(HaveLen(1))
		g.Expect(list.Items[0]).To(And(HaveKeyWithValue("state", "Failing"), HaveKeyWithValue("ready", BeEquivalentTo(1)), HaveKeyWithValue("name", "web")))
		out, _ = l.run(ExitDone, "get", "configmaps", "-o", "yaml")
		g.Expect(out).To(Equal("items: []\n"))
		out, _ = l.run(ExitDone, "get", "deployments.apps", "-o", "wide")
		g.Expect(out).To(ContainSubstring("web-deployment"))
		_, said = l.run(ExitDone, "get", "-n", "elsewhere")
		g.Expect(said).To(Equal("There is no application in namespace elsewhere; `hub get -A` lists those of all namespaces\n"))
		_, said = l.run(ExitFailed, "get", "cm/alone")
		g.Expect(said).To(ContainSubstring("ConfigMap default/alone goes to no cluster, because no policy has it; `hub explain` says why"))
		_, said = l.run(ExitFailed, "get", "cm/none")
		g.Expect(said).To(ContainSubstring("the hub has no ConfigMap \"none\" in namespace \"default\"; name another with -n"))
	})
	t.Run("clusters", func(t *testing.T) {
		g := NewWithT(t)
		out, _ := l.run(ExitDone, "clusters")
		g.Expect(out).To(MatchRegexp(`edge-1 +Ready +3\dm +v1.36.3 +- +2/8 \(25%\) +15Gi/16Gi \(94%\) +1/1 +0 +- +- +-\n`))
		g.Expect(out).To(MatchRegexp(`edge-2 +Silent +3\dm .* said so\n`))
		g.Expect(out).To(MatchRegexp(`edge-3 +Ready .* 0/1 +1 .*It refuses 1 of 1 objects; see .hub events --cluster edge-3.`))
		out, _ = l.run(ExitDone, "clusters", "--unready", "-o", "wide")
		g.Expect(out).NotTo(ContainSubstring("edge-1"))
		g.Expect(out).To(ContainSubstring("north"))
		out, _ = l.run(ExitDone, "clusters", "edge-1", "edge-3")
		g.Expect(out).To(And(ContainSubstring("edge-1"), ContainSubstring("edge-3"), Not(ContainSubstring("edge-2"))))
		_, said := l.run(ExitFailed, "clusters", "remove")
		g.Expect(said).To(ContainSubstring("there is no cluster remove on the hub, and no command of that name"))
		out, _ = l.run(ExitDone, "clusters", "-o", "json")
		g.Expect(out).To(And(ContainSubstring(`"state": "Silent"`), ContainSubstring(`"failing": 1`)))
		out, _ = l.run(ExitDone, "clusters", "describe", "edge-3")
		g.Expect(out).To(And(ContainSubstring("Works:"), ContainSubstring("about edge-3"), Not(ContainSubstring("about edge-1"))))
		out, _ = l.run(ExitDone, "clusters", "describe", "edge-2")
		g.Expect(out).To(And(MatchRegexp(`CapacityUnknown: +True since \S+ \(as the agent said last\)`), MatchRegexp(`Ready: +Unknown since \S+: said so`)))
	})
	t.Run("top", func(t *testing.T) {
		g := NewWithT(t)
		out, _ := l.run(ExitDone, "top")
		g.Expect(strings.Fields(strings.Split(out, "\n")[1])[0]).To(Equal("edge-3"), "the fullest first")
		g.Expect(out).To(MatchRegexp(`edge-3 +Ready +2/2 +6/8 \(75%\) +2 +15Gi/16Gi \(94%\) +1024Mi +11/110 \(10%\) +99\n`))
		out, _ = l.run(ExitDone, "top", "edge-1", "--sort", "name", "-o", "yaml")
		g.Expect(out).To(And(ContainSubstring("name: edge-1"), Not(ContainSubstring("edge-2"))))
		_, said := l.run(ExitFailed, "top", "edge-9")
		g.Expect(said).To(ContainSubstring("there is no cluster edge-9 on the hub; `hub clusters` lists them"))
		_, said = l.run(ExitFailed, "top", "--sort", "size")
		g.Expect(said).To(ContainSubstring("--sort \"size\" is none of"))
	})
	t.Run("tree", func(t *testing.T) {
		g := NewWithT(t)
		out, _ := l.run(ExitDone, "tree", "deployment/web")
		g.Expect(out).To(HavePrefix("Deployment default/web  Failing  edge-3: denied by a webhook\n└─ PropagationPolicy default/web\n   └─ ResourceBinding default/web-deployment  Scheduled\n"))
		g.Expect(out).To(ContainSubstring("│  └─ [edge-1] Deployment default/web  Healthy  2 of 2 ready\n"))
		g.Expect(out).To(ContainSubstring("[edge-3] Work karmada-es-edge-3/"))
		out, _ = l.run(ExitDone, "tree", "deployment/web", "-o", "json")
		g.Expect(json.Valid([]byte(out))).To(BeTrue())
	})
	t.Run("events", func(t *testing.T) {
		g := NewWithT(t)
		out, _ := l.run(ExitDone, "events", "deployment/web")
		g.Expect(strings.Count(out, "about edge-")).To(Equal(3))
		out, _ = l.run(ExitDone, "events", "-A", "--warnings")
		g.Expect(out).To(MatchRegexp(`Warning +edge-3 +Work karmada-es-edge-3/\S+ +Synced +about edge-3`))
		g.Expect(out).NotTo(ContainSubstring("about edge-1"))
		out, _ = l.run(ExitDone, "events", "--cluster", "edge-1")
		g.Expect(out).To(And(ContainSubstring("about edge-1"), Not(ContainSubstring("about edge-3"))))
		_, said := l.run(ExitDone, "events", "--since", "1ns")
		g.Expect(said).To(ContainSubstring("No such events"))
		out, _ = l.run(ExitDone, "events", "-n", "kube-public", "--warnings", "-o", "json")
		g.Expect(out).To(ContainSubstring(`"items": []`))
	})
	t.Run("completion", func(t *testing.T) {
		g := NewWithT(t)
		l.completes(g)
		for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
			out, _ := l.run(ExitDone, "completion", shell)
			g.Expect(len(out)).To(BeNumerically(">", 100), shell)
		}
	})
	t.Run("tenants see what is theirs", func(t *testing.T) { l.tenants(NewWithT(t)) })
	t.Run("held deletions are seen at once", func(t *testing.T) { l.holding(NewWithT(t)) })
	t.Run("what others wrote steers no terminal", func(t *testing.T) { l.steered(NewWithT(t)) })
	t.Run("what goes into members", func(t *testing.T) { l.reach(NewWithT(t)) })
	t.Run("rollout", func(t *testing.T) { l.rollout(t) })
	t.Run("namespaces", func(t *testing.T) { l.namespaces(t) })
	t.Run("what stays on the hub", func(t *testing.T) { l.stays(NewWithT(t)) })
	t.Run("policies that are not applied", func(t *testing.T) { l.notApplied(t) })
	t.Run("outages", func(t *testing.T) { l.outages(t) })
	t.Run("diff and wait", func(t *testing.T) { l.diffAndWait(NewWithT(t)) })
	t.Run("what one may not read is said", func(t *testing.T) { l.withoutRights(NewWithT(t)) })
}

package hollow_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/connect"
	"fairlead.dev/hub/fleet/registration/record"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/setup"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/fleet/hollow"
	"fairlead.dev/test/stagetest"
)

const waitTimeout = 2 * time.Minute

func TestMain(m *testing.M) { cluster.Main(m) }

// shared is the API of a hub on which each test has clusters of its own.
var shared cluster.Kept[*cluster.Cluster]

// startHub runs a whole hub on an API of its own, which gives silent clusters up after a few seconds, and serves lines.
func startHub(tb testing.TB) *cluster.Cluster {
	tb.Helper()
	api := cluster.Start(tb, cluster.Options{Profile: cluster.Hub})
	info := apiserver.ClusterInfo{Servers: []string{api.Config.Host}, CA: api.Config.CAData}
	if err := apiserver.Install(tb.Context(), api.Config, apiserver.Options{ClusterInfo: &info}); err != nil {
		tb.Fatal(err)
	}
	options := setup.Options{
		ExecutionNamespacePrefix:  contract.DefaultExecutionNamespacePrefix,
		SkippedNamespaces:         []*regexp.Regexp{regexp.MustCompile("^kube-.*$")},
		ClusterMonitorPeriod:      5 * time.Second,
		ClusterMonitorGracePeriod: 15 * time.Second, // more than the machine may be busy with something else
		ClusterStartupGracePeriod: time.Minute,
		Clock:                     clock.RealClock{},
		Registry:                  prometheus.NewRegistry(),
		ShutdownTimeout:           stagetest.ShutdownTimeout,
		Connect: &setup.ConnectOptions{
			BindAddress: "127.0.0.1:0", Replica: "hub-0",
			Service: connect.Place{Namespace: metav1.NamespaceSystem, Name: connect.EmbeddedService, Loopback: true},
		},
	}
	mgr, err := setup.New(tb.Context(), api.Config, options)
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(tb.Context()) }()
	tb.Cleanup(func() {
		if err := <-done; err != nil {
			tb.Errorf("the hub stopped: %v", err)
		}
	})
	return api
}

// readyOf tells whether the hub takes a cluster for ready.
func readyOf(t *testing.T, hub client.Client, name string) func(Gomega) metav1.ConditionStatus {
	t.Helper()
	return func(g Gomega) metav1.ConditionStatus {
		var cluster clusterv1alpha1.Cluster
		g.Expect(hub.Get(t.Context(), client.ObjectKey{Name: name}, &cluster)).To(Succeed())
		found := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady)
		g.Expect(found).NotTo(BeNil())
		return found.Status
	}
}

// options are of a fleet that renews its leases every second, where it has no lines.
func options(t *testing.T, api *cluster.Cluster, lines bool) hollow.Options {
	t.Helper()
	return hollow.Options{Hub: api.Config, PKI: filepath.Join(api.DataDir, "pki"), Dir: t.TempDir(), StatusInterval: time.Second, LeaseInterval: time.Second, Lines: lines}
}

func TestEachHasACertificateOfItsOwn(t *testing.T) {
	t.Parallel()
	g, api := NewWithT(t), shared.Share(t, startHub)
	hub := api.Client(t)
	fleet, err := hollow.New(t.Context(), options(t, api, false))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(fleet.Join(t.Context(), builder.MakeCluster("own-0").Obj(), builder.MakeCluster("own-1").Obj())).To(Succeed())
	for _, name := range fleet.Names() {
		config, err := fleet.Config(name)
		g.Expect(err).NotTo(HaveOccurred())
		agent, err := kubernetes.NewForConfig(config)
		g.Expect(err).NotTo(HaveOccurred())
		is, err := agent.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred())

		var registered clusterv1alpha1.Cluster
		g.Expect(hub.Get(t.Context(), client.ObjectKey{Name: name}, &registered)).To(Succeed())
		last := record.Read[record.Certificate](registered.Annotations, contract.CertificateAnnotation)
		g.Expect(last).NotTo(BeNil())
		g.Expect(is.Status.UserInfo.Username).To(Equal(contract.AgentUser(name)))
		g.Expect(is.Status.UserInfo.Groups).To(ConsistOf(contract.AgentGroup, contract.JoinGroup(record.JoinOf(registered.Annotations)), "system:authenticated"))
		g.Expect(is.Status.UserInfo.Extra[contract.CredentialIDKey]).To(Equal(authenticationv1.ExtraValue{contract.CredentialIDPrefix + last.Fingerprint}))
	}
}

func TestWithLinesTheyRenewTheirLeasesRarely(t *testing.T) {
	t.Parallel()
	g, api := NewWithT(t), shared.Share(t, startHub)
	hub := api.Client(t)
	fleet, err := hollow.New(t.Context(), options(t, api, true))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(fleet.Join(t.Context(), builder.MakeCluster("line-0").Obj(), builder.MakeCluster("line-1").Obj())).To(Succeed())
	g.Expect(fleet.AwaitLines(t.Context())).To(Succeed())
	renewals := func() int64 {
		used := fleet.Traffic()
		return used.Requests["PATCH leases"] + used.Requests["PUT leases"]
	}
	// Each tells once more that it is there when its line opens, and may have begun to do so a moment ago.
	g.Eventually(func() bool {
		was := renewals()
		deadline := time.After(4 * time.Second)
		for renewals() == was {
			select {
			case <-deadline:
				return true
			case <-time.After(50 * time.Millisecond):
			}
		}
		return false
	}).WithTimeout(waitTimeout).Should(BeTrue(), "without lines each renewed every second")
	g.Expect(readyOf(t, hub, "line-0")(g)).To(Equal(metav1.ConditionTrue))

	fleet.Silence("line-0")
	g.Eventually(readyOf(t, hub, "line-0")).WithTimeout(waitTimeout).Should(Equal(metav1.ConditionUnknown), "though its lease was to last for minutes")
	g.Expect(fleet.Return("line-0")).To(Succeed())
	g.Expect(fleet.AwaitLines(t.Context())).To(Succeed())
	g.Eventually(readyOf(t, hub, "line-0")).WithTimeout(waitTimeout).Should(Equal(metav1.ConditionTrue))
	g.Expect(readyOf(t, hub, "line-1")(g)).To(Equal(metav1.ConditionTrue))
}

func TestToTheHubTheyAreAgents(t *testing.T) {
	t.Parallel()
	g, api := NewWithT(t), shared.Share(t, startHub)
	hub := api.Client(t)
	fleet, err := hollow.New(t.Context(), options(t, api, false))
	g.Expect(err).NotTo(HaveOccurred())
	clusters := []*clusterv1alpha1.Cluster{}
	for i := range 8 {
		clusters = append(clusters, builder.MakeCluster(fmt.Sprintf("edge-%d", i)).Region(fmt.Sprintf("region-%d", i%2)).Obj())
	}
	g.Expect(fleet.Join(t.Context(), clusters...)).To(Succeed())
	g.Expect(fleet.Names()).To(HaveLen(8))
	ready := func(name string) func(Gomega) metav1.ConditionStatus { return readyOf(t, hub, name) }
	for _, name := range fleet.Names() {
		g.Eventually(ready(name)).Should(Equal(metav1.ConditionTrue))
	}

	ns := api.Namespace(t)
	g.Expect(hub.Create(t.Context(), builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Clusters(fleet.Names()...).Obj())).To(Succeed())
	template := builder.MakeDeployment(ns, "web").Replicas(2).Set([]any{map[string]any{
		"name": "web", "image": "nginx:1.27", "resources": map[string]any{"requests": map[string]any{"cpu": "100m"}},
	}}, "spec", "template", "spec", "containers").Obj()
	g.Expect(hub.Create(t.Context(), template)).To(Succeed())
	healths := func(g Gomega) map[string]workv1alpha1.ResourceHealth {
		var binding workv1alpha2.ResourceBinding
		g.Expect(hub.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: contract.BindingName("Deployment", "web")}, &binding)).To(Succeed())
		out := map[string]workv1alpha1.ResourceHealth{}
		for _, item := range binding.Status.AggregatedStatus {
			out[item.ClusterName] = item.Health
		}
		return out
	}
	g.Eventually(func(g Gomega) {
		got := healths(g)
		g.Expect(got).To(HaveLen(8))
		g.Expect(got).To(HaveEach(workv1alpha1.Healthy))
		live := builder.MakeDeployment(ns, "web").Obj()
		g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
		available, _, err := unstructured.NestedInt64(live.Object, "status", "availableReplicas")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(available).To(Equal(int64(16)), "the replicas of eight clusters")
	}).WithTimeout(waitTimeout).Should(Succeed())

	fleet.Tell(func(cluster string, manifest *unstructured.Unstructured) hollow.Outcome {
		switch cluster {
		case "edge-1":
			return hollow.Failing(manifest)
		case "edge-2":
			return hollow.Outcome{Refused: "it has no room"}
		default:
			return hollow.Running(manifest)
		}
	})
	g.Eventually(func(g Gomega) {
		g.Expect(healths(g)).To(And(HaveKeyWithValue("edge-1", workv1alpha1.Unhealthy), HaveKeyWithValue("edge-0", workv1alpha1.Healthy)))
		var works workv1alpha1.WorkList
		g.Expect(hub.List(t.Context(), &works, client.InNamespace("karmada-es-edge-2"))).To(Succeed())
		g.Expect(works.Items).To(ContainElement(HaveField("Status.Conditions", ContainElement(And(
			HaveField("Type", workv1alpha1.WorkApplied), HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring("it has no room")))))))
	}).WithTimeout(waitTimeout).Should(Succeed())

	g.Eventually(func(g Gomega) {
		var cluster clusterv1alpha1.Cluster
		g.Expect(hub.Get(t.Context(), client.ObjectKey{Name: "edge-4"}, &cluster)).To(Succeed())
		g.Expect(cluster.Status.ResourceSummary.Allocated.Pods().Value()).To(Equal(int64(2)), "the pods of what it runs")
		g.Expect(cluster.Status.ResourceSummary.Allocated.Cpu().MilliValue()).To(Equal(int64(200)))
	}).WithTimeout(waitTimeout).Should(Succeed())

	fleet.Silence("edge-3")
	g.Eventually(ready("edge-3")).WithTimeout(waitTimeout).Should(Equal(metav1.ConditionUnknown))
	g.Expect(ready("edge-0")(g)).To(Equal(metav1.ConditionTrue))
	g.Expect(fleet.Return("edge-3")).To(Succeed())
	g.Eventually(ready("edge-3")).WithTimeout(waitTimeout).Should(Equal(metav1.ConditionTrue))

	fleet.SetRoom("edge-4", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("7")})
	g.Eventually(func(g Gomega) {
		var cluster clusterv1alpha1.Cluster
		g.Expect(hub.Get(t.Context(), client.ObjectKey{Name: "edge-4"}, &cluster)).To(Succeed())
		g.Expect(cluster.Status.ResourceSummary.Allocatable.Cpu().Value()).To(Equal(int64(7)))
	}).WithTimeout(waitTimeout).Should(Succeed())

	g.Expect(hub.Delete(t.Context(), template)).To(Succeed())
	g.Eventually(func(g Gomega) {
		var works workv1alpha1.WorkList
		g.Expect(hub.List(t.Context(), &works, client.MatchingLabels{})).To(Succeed())
		g.Expect(works.Items).NotTo(ContainElement(HaveField("Name", contract.WorkName("Deployment", ns, "web"))), "agents let their Works go")
	}).WithTimeout(waitTimeout).Should(Succeed())

	used := fleet.Traffic()
	g.Expect(used.Requests).To(And(HaveKey("PATCH works/status"), HaveKey("PATCH leases"), HaveKey("PUT leases"), HaveKey("WATCH works"), HaveKeyWithValue("PATCH clusters/status", BeNumerically(">=", 8))))
	g.Expect(used.Sent).To(BeNumerically(">", 0))
	g.Expect(used.Received).To(BeNumerically(">", used.Sent/10))
}

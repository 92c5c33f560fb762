package setup

import (
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// waitTimeout is how long things may take on a machine that does other work too.
const waitTimeout = time.Minute

func options() Options {
	return Options{
		ExecutionNamespacePrefix:  contract.DefaultExecutionNamespacePrefix,
		SkippedNamespaces:         []*regexp.Regexp{regexp.MustCompile("^kube-.*$")},
		ClusterMonitorPeriod:      5 * time.Second,
		ClusterMonitorGracePeriod: 40 * time.Second,
		ClusterStartupGracePeriod: time.Minute,
		Clock:                     clock.RealClock{},
	}
}

func TestNewRefusesWhatIsNotSaid(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	o := options()
	o.Clock = nil
	_, err := New(t.Context(), hub.Config, o)
	g.Expect(err).To(HaveOccurred())
	o = options()
	o.ExecutionNamespacePrefix = ""
	_, err = New(t.Context(), hub.Config, o)
	g.Expect(err).To(HaveOccurred())
}

func TestContentsOfTheCache(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	hubClient := hub.Client(t)
	ns := hub.Namespace(t)
	create := func(obj client.Object) {
		t.Helper()
		g.Expect(client.IgnoreAlreadyExists(hubClient.Create(t.Context(), obj))).To(Succeed())
	}
	work := &workv1alpha1.Work{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: ns, Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: ns}},
		Spec: workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{Manifests: []workv1alpha1.Manifest{
			{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)}},
		}}},
	}
	create(work)
	placed := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "placed"}}
	placed.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: ns, Name: "placed"}
	placed.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-1"}}
	placed.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: ns, Name: "web", Clusters: []workv1alpha2.TargetCluster{{Name: "edge-2"}}}}
	placed.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "edge-3", Producer: "Test", Reason: "Test"}}
	create(placed)
	placed.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "edge-4"}}
	g.Expect(hubClient.Status().Update(t.Context(), placed)).To(Succeed())
	waits := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "waits"}, Spec: placed.Spec}
	waits.Spec.Clusters, waits.Spec.RequiredBy, waits.Spec.GracefulEvictionTasks = nil, nil, nil
	create(waits)
	waits.Status.Conditions = []metav1.Condition{{
		Type: workv1alpha2.BindingScheduled, Status: metav1.ConditionFalse, Reason: workv1alpha2.ReasonUnschedulable, LastTransitionTime: metav1.Now(),
	}}
	g.Expect(hubClient.Status().Update(t.Context(), waits)).To(Succeed())
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}})
	create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "edge-1", Namespace: contract.ClusterNamespace}})
	create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "of-others", Namespace: ns}})

	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	o := CacheOptions(nil)
	o.Scheme = scheme
	kept, err := cache.New(hub.Config, o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kube.Index(t.Context(), kept)).To(Succeed())
	go func() { _ = kept.Start(t.Context()) }()

	cached := &workv1alpha1.Work{}
	g.Eventually(func() error { return kept.Get(t.Context(), client.ObjectKeyFromObject(work), cached) }).WithTimeout(waitTimeout).Should(Succeed(), "once it is started")
	g.Expect(cached.Spec.Workload.Manifests).To(BeEmpty(), "manifests are most of a Work")
	g.Expect(cached.ManagedFields).To(BeEmpty())
	of := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Labels: work.Labels}}
	for _, reader := range []client.Reader{kept, hubClient} { // who has no index looks at all of them
		found, err := kube.WorksOf(t.Context(), reader, of)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found).To(ConsistOf(HaveField("Name", work.Name)))
	}
	g.Expect(hubClient.Get(t.Context(), client.ObjectKeyFromObject(work), work)).To(Succeed())
	g.Expect(work.Spec.Workload.Manifests).To(HaveLen(1), "the Work itself has them")

	kind := kube.ResourceBindings()
	names := func(found []kube.Binding, err error) []string {
		g.Expect(err).NotTo(HaveOccurred())
		out := []string{}
		for _, b := range found {
			if b.GetNamespace() == ns {
				out = append(out, b.GetName())
			}
		}
		return out
	}
	for _, edge := range []string{"edge-1", "edge-2", "edge-3", "edge-4"} {
		g.Expect(names(kind.Naming(t.Context(), kept, edge))).To(ConsistOf("placed"), edge)
		g.Expect(names(kind.Naming(t.Context(), hubClient, edge))).To(ConsistOf("placed"), "who has no index looks at all of them")
	}
	g.Expect(names(kind.Naming(t.Context(), kept, "edge-5"))).To(BeEmpty())
	g.Expect(names(kind.Waiting(t.Context(), kept, workv1alpha2.ReasonUnschedulable))).To(ConsistOf("waits"))
	g.Expect(names(kind.Waiting(t.Context(), kept, workv1alpha2.ReasonNoClusterFit))).To(BeEmpty())
	g.Expect(names(kind.Waiting(t.Context(), kept, ""))).To(ConsistOf("waits"))

	for _, reader := range []client.Reader{kept, hubClient} { // who has no index looks at all of them
		g.Expect(names(kind.OfKind(t.Context(), reader, schema.GroupKind{Kind: "ConfigMap"}))).To(ConsistOf("placed", "waits"))
		g.Expect(names(kind.OfKind(t.Context(), reader, schema.GroupKind{Group: "example.com", Kind: "ConfigMap"}))).To(BeEmpty())
	}

	large := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "large", Annotations: map[string]string{
		corev1.LastAppliedConfigAnnotation: "all of it again", "mine": "stays",
	}}}
	create(large)
	template := kube.MetadataOf(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	g.Eventually(func() error { return kept.Get(t.Context(), client.ObjectKeyFromObject(large), template) }).WithTimeout(waitTimeout).Should(Succeed())
	g.Expect(template.Annotations).To(Equal(map[string]string{"mine": "stays"}))

	leases := &coordinationv1.LeaseList{}
	g.Expect(kept.List(t.Context(), leases)).To(Succeed())
	g.Expect(leases.Items).To(HaveLen(1), "only those of agents")
	g.Expect(leases.Items[0].ManagedFields).To(BeEmpty())

	namespaces := &corev1.NamespaceList{}
	g.Expect(kept.List(t.Context(), namespaces)).To(Succeed())
	g.Expect(namespaces.Items).NotTo(BeEmpty())
	for i := range namespaces.Items {
		g.Expect(namespaces.Items[i].ManagedFields).To(BeEmpty())
	}
	g.Expect(kept.List(t.Context(), &certificatesv1.CertificateSigningRequestList{})).To(Succeed(), "requests can be selected by their signer")
}

package chaos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/process"
)

// mark is the annotation with the version of an object.
const mark = "chaos.example.com/version"

// world is a namespace of the hub whose objects are propagated to the member, with a model of the expected objects.
type world struct {
	hub, member client.Client
	namespace   string
	random      *rand.Rand

	// model has the version of each object, such as "configmap/o-3". Names are not reused by chance.
	model map[string]int
	// uids are the UIDs of the objects in the member when they were last all as expected. An object that is not deleted
	// on the hub must keep its UID.
	uids map[string]types.UID
	next int
}

func newWorld(t *testing.T, f *fleet.Fleet) *world {
	t.Helper()
	g := NewWithT(t)
	w := &world{random: dice(t), model: map[string]int{}, uids: map[string]types.UID{}}
	w.hub, w.member = connect(t, f, fleet.HubName), connect(t, f, member)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "chaos-"}}
	g.Expect(w.hub.Create(t.Context(), ns)).To(Succeed())
	w.namespace = ns.Name
	// Changes are too fast for an operator to release deletions held by the deletion brake.
	off := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"deletionBrake":{"objects":0,"percent":100}}}`))
	g.Expect(w.hub.Patch(t.Context(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: member}}, off)).To(Succeed())
	policy := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "everything"}}
	policy.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{
		{APIVersion: "v1", Kind: "ConfigMap", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"chaos": "true"}}},
		{APIVersion: "apps/v1", Kind: "Deployment"},
	}
	policy.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{member}}
	g.Expect(w.hub.Create(t.Context(), policy)).To(Succeed())
	return w
}

// connect returns a client whose scheme includes Deployments.
func connect(t *testing.T, f *fleet.Fleet, name string) client.Client {
	t.Helper()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(appsv1.AddToScheme(scheme)).To(Succeed())
	config, err := f.Config(name)
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

// object returns an object of the model in a version; every tenth is a Deployment.
func (w *world) object(key string, version int) client.Object {
	kind, name, _ := strings.Cut(key, "/")
	of := metav1.ObjectMeta{
		Namespace: w.namespace, Name: name, Labels: map[string]string{"chaos": "true"},
		Annotations: map[string]string{mark: strconv.Itoa(version)},
	}
	if kind == "configmap" {
		return &corev1.ConfigMap{ObjectMeta: of, Data: map[string]string{"version": strconv.Itoa(version)}}
	}
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: of, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "c", Image: "example.com/app:" + strconv.Itoa(version),
			}}},
		},
	}}
}

// act creates, changes and deletes random objects on the hub.
func (w *world) act(t *testing.T, times int) {
	t.Helper()
	for range times {
		keys := w.keys()
		switch chance := w.random.IntN(10); {
		case chance < 5 || len(keys) == 0:
			w.create(t)
		case chance < 8:
			w.update(t, keys[w.random.IntN(len(keys))])
		default:
			w.remove(t, keys[w.random.IntN(len(keys))])
		}
	}
}

func (w *world) create(t *testing.T) (key string) {
	t.Helper()
	kind := "configmap"
	if w.next++; w.next%10 == 0 {
		kind = "deployment"
	}
	key = fmt.Sprintf("%s/o-%d", kind, w.next)
	NewWithT(t).Expect(w.hub.Create(t.Context(), w.object(key, 0))).To(Succeed())
	w.model[key] = 0
	return key
}

func (w *world) update(t *testing.T, key string) {
	t.Helper()
	version := w.model[key] + 1
	NewWithT(t).Eventually(func() error {
		live, wanted := w.object(key, 0), w.object(key, version)
		if err := w.hub.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
			return err
		}
		wanted.SetResourceVersion(live.GetResourceVersion())
		wanted.SetLabels(live.GetLabels())
		return w.hub.Update(t.Context(), wanted)
	}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
	w.model[key] = version
}

func (w *world) remove(t *testing.T, key string) {
	t.Helper()
	NewWithT(t).Expect(w.hub.Delete(t.Context(), w.object(key, 0))).To(Succeed())
	delete(w.model, key)
	delete(w.uids, key)
}

// goBack resets the model, and returns the objects created since that still exist.
func (w *world) goBack(model map[string]int) (since []string) {
	for _, key := range w.keys() {
		if _, ok := model[key]; !ok {
			since = append(since, key)
		}
	}
	w.model = model
	return since
}

// keys returns the keys of the model, sorted.
func (w *world) keys() []string { return slices.Sorted(maps.Keys(w.model)) }

// seen is an object of the member.
type seen struct {
	uid     types.UID
	version int
}

// look returns the objects in the member.
func (w *world) look(t *testing.T, g Gomega) map[string]seen {
	t.Helper()
	var configMaps corev1.ConfigMapList
	g.Expect(w.member.List(t.Context(), &configMaps, client.InNamespace(w.namespace), client.MatchingLabels{"chaos": "true"})).To(Succeed())
	var deployments appsv1.DeploymentList
	g.Expect(w.member.List(t.Context(), &deployments, client.InNamespace(w.namespace))).To(Succeed())
	out := map[string]seen{}
	for i := range configMaps.Items {
		o := &configMaps.Items[i]
		version, err := strconv.Atoi(o.Data["version"])
		g.Expect(err).NotTo(HaveOccurred())
		out["configmap/"+o.Name] = seen{o.UID, version}
	}
	for i := range deployments.Items {
		o := &deployments.Items[i]
		version, err := strconv.Atoi(strings.TrimPrefix(o.Spec.Template.Spec.Containers[0].Image, "example.com/app:"))
		g.Expect(err).NotTo(HaveOccurred())
		out["deployment/"+o.Name] = seen{o.UID, version}
	}
	return out
}

// show describes the Deployments and Works on both sides, and the last events of the member's controllers.
func (w *world) show(f *fleet.Fleet) string {
	var out strings.Builder
	for _, args := range [][]string{
		{fleet.HubName, "get", "deployments", "-n", w.namespace, "-o", "wide"},
		{fleet.HubName, "get", "works", "-n", "karmada-es-" + member, "-o", "wide"},
		{member, "get", "nodes"},
		{member, "get", "deployments,replicasets,pods", "-n", w.namespace, "-o", "wide"},
		{member, "get", "events", "-n", w.namespace, "--sort-by", ".lastTimestamp"},
	} {
		said, err := f.Kubectl(context.Background(), args[0], args[1:]...)
		fmt.Fprintf(&out, "--- %s\n%s\n", strings.Join(args, " "), said)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	return out.String() + process.Tail(f.Log(member))
}

// isWell waits until the member has exactly the objects of the model and those named, and the hub reports that. Objects
// that were not deleted must keep their UIDs.
func (w *world) isWell(t *testing.T, besides ...string) {
	t.Helper()
	eventually(t, func(g Gomega) {
		there := w.look(t, g)
		for _, key := range besides {
			g.Expect(there).To(HaveKey(key), "nobody deleted it")
		}
		versions := map[string]int{}
		for key, o := range there {
			versions[key] = o.version
		}
		for _, key := range besides {
			delete(versions, key)
		}
		g.Expect(versions).To(Equal(w.model))
	})
	eventually(t, func(g Gomega) { w.isReported(t, g) })
	for key, o := range w.look(t, NewWithT(t)) {
		if uid, ok := w.uids[key]; ok && uid != o.uid {
			t.Errorf("%s was deleted in the member, and made again", key)
		}
		w.uids[key] = o.uid
	}
}

// isReported expects the hub to report every object as applied and healthy.
func (w *world) isReported(t *testing.T, g Gomega) {
	t.Helper()
	var bindings workv1alpha2.ResourceBindingList
	g.Expect(w.hub.List(t.Context(), &bindings, client.InNamespace(w.namespace))).To(Succeed())
	var names []string
	for i := range bindings.Items {
		b := &bindings.Items[i]
		names = append(names, strings.ToLower(b.Spec.Resource.Kind)+"/"+b.Spec.Resource.Name)
		applied := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingFullyApplied)
		g.Expect(applied).NotTo(BeNil(), b.Name)
		g.Expect(applied.Status).To(Equal(metav1.ConditionTrue), "%s: %s", b.Name, applied.Message)
		g.Expect(b.Status.AggregatedStatus).To(HaveLen(1), b.Name)
		g.Expect(b.Status.AggregatedStatus[0].Applied).To(BeTrue(), b.Name)
	}
	g.Expect(names).To(ConsistOf(w.keys()))
	var templates appsv1.DeploymentList
	g.Expect(w.hub.List(t.Context(), &templates, client.InNamespace(w.namespace))).To(Succeed())
	for i := range templates.Items {
		d := &templates.Items[i]
		g.Expect(d.Status.ObservedGeneration).To(Equal(d.Generation), d.Name)
		g.Expect(d.Status.ReadyReplicas).To(BeEquivalentTo(1), d.Name)
	}
}

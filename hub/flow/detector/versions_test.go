package detector

import (
	"path"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/test/builder"
)

// databases are a kind that the API server of a test serves in two versions.
type databases struct {
	*stage

	definition *apiextensionsv1.CustomResourceDefinition
	v1, beta   string
}

// databases installs the kind, and waits until both versions are served.
func (s *stage) databases(t *testing.T) *databases {
	t.Helper()
	g := NewWithT(t)
	group := s.namespace + ".example.com"
	d := &databases{stage: s, definition: builder.MakeDefinition(group, "v1", "Database"), v1: group + "/v1", beta: group + "/v1beta1"}
	beta := *d.definition.Spec.Versions[0].DeepCopy()
	beta.Name, beta.Storage = "v1beta1", false
	d.definition.Spec.Versions = append(d.definition.Spec.Versions, beta)
	s.create(t, d.definition)
	told, err := discovery.NewDiscoveryClientForConfig(s.config)
	g.Expect(err).NotTo(HaveOccurred())
	kind := schema.GroupKind{Group: group, Kind: "Database"}
	g.Eventually(func(g Gomega) {
		for _, version := range []string{d.v1, d.beta} {
			g.Expect(apierrors.IsNotFound(s.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "none"}, d.orders(version)))).To(BeTrue())
			g.Expect(s.client.List(t.Context(), d.list(version), client.InNamespace(s.namespace))).To(Succeed())
		}
		g.Expect(watchset.ServedThrough(told, clock.RealClock{}).Versions(t.Context(), kind)).To(HaveLen(2))
	}, "1m", "50ms").Should(Succeed())
	return d
}

func (d *databases) orders(apiVersion string) *unstructured.Unstructured {
	return builder.MakeTemplate(apiVersion, "Database", d.namespace, "orders").Set(int64(1), "spec", "size").Obj()
}

func (d *databases) list(apiVersion string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(apiVersion)
	list.SetKind("DatabaseList")
	return list
}

// serve has the API server serve v1beta1, or not.
func (d *databases) serve(t *testing.T, beta bool) {
	t.Helper()
	g := NewWithT(t)
	live := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(d.client.Get(t.Context(), client.ObjectKeyFromObject(d.definition), live)).To(Succeed())
	before := live.DeepCopy()
	live.Spec.Versions[1].Served = beta
	g.Expect(d.client.Patch(t.Context(), live, client.MergeFrom(before))).To(Succeed())
}

// selecting returns a policy for the object in one version, that sends it to a cluster of its own.
func (d *databases) selecting(name, apiVersion, cluster string) *policyv1alpha1.PropagationPolicy {
	p := d.policy(name, named(apiVersion, "Database", "orders"))
	p.Spec.Placement.ClusterAffinity.ClusterNames = []string{cluster}
	return p
}

// quiet waits for what was asked for, and holds that nothing is written any more.
func (d *databases) quiet(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	d.settle(t)
	before, since := 0, time.Now()
	g.Eventually(func() time.Duration {
		if now := len(d.writes.requests()); now != before {
			before, since = now, time.Now()
		}
		return time.Since(since)
	}, "1m", "50ms").Should(BeNumerically(">=", time.Second), "on a busy machine the last write may come late")
	g.Consistently(func() []string { return d.writes.requests()[before:] }, "1s", "50ms").Should(BeEmpty())
}

// changes are the writes about the object and its binding since there were so many.
func (d *databases) changes(since int) []string {
	var out []string
	for _, write := range d.writes.requests()[since:] {
		if strings.Contains(write, "/orders") {
			method, where, _ := strings.Cut(write, " ")
			out = append(out, method+" "+path.Base(where))
		}
	}
	return out
}

// readAs says that a binding follows its template in one version. The garbage collector follows it in the one that the API prefers.
func readAs(apiVersion string) func(Gomega, *workv1alpha2.ResourceBinding) {
	return func(g Gomega, b *workv1alpha2.ResourceBinding) {
		g.Expect(b.Spec.Resource.APIVersion).To(Equal(apiVersion))
		g.Expect(metav1.GetControllerOf(b).APIVersion).To(Equal(path.Dir(apiVersion) + "/v1"))
		g.Expect(b.DeletionTimestamp).To(BeNil())
	}
}

const ordersBinding = "orders-database"

// Two policies select one object, each in a version of its own: one has it, and neither takes it from the other.
func TestOneObjectInTwoVersionsHasOnePolicy(t *testing.T) {
	s := start(t)
	d := s.databases(t)
	g := NewWithT(t)
	s.create(t, d.selecting("first", d.beta, "edge-1"), d.orders(d.v1))
	before := s.eventually(t, ordersBinding, claimedBy("first"))
	s.create(t, d.selecting("a-later", d.v1, "edge-2"))
	d.quiet(t)
	b := s.eventually(t, ordersBinding, claimedBy("first"))
	readAs(d.beta)(g, b)
	g.Expect(b.ResourceVersion).To(Equal(before.ResourceVersion), "the binding was not written")

	// An edit is followed, in the version of the policy, with one write.
	since := len(s.writes.requests())
	edit := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":2}}`))
	g.Expect(s.client.Patch(t.Context(), d.orders(d.v1), edit)).To(Succeed())
	s.eventually(t, ordersBinding, func(g Gomega, b *workv1alpha2.ResourceBinding) {
		g.Expect(b.Spec.Resource.ResourceVersion).NotTo(Equal(before.Spec.Resource.ResourceVersion))
	})
	d.quiet(t)
	g.Expect(d.changes(since)).To(Equal([]string{"PATCH orders-database"}))

	// A hub that starts anew finds nothing to do.
	s.stop()
	since = len(s.writes.requests())
	s.run(t, g, s.config)
	d.quiet(t)
	g.Expect(d.changes(since)).To(BeEmpty())

	// When the policy goes, the other one has the same binding.
	first := s.policy("first")
	g.Expect(s.client.Delete(t.Context(), first)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(s.client.Get(t.Context(), client.ObjectKeyFromObject(first), first))
	}, "1m", "50ms").Should(BeTrue())
	after := s.eventually(t, ordersBinding, claimedBy("a-later"))
	s.eventually(t, ordersBinding, readAs(d.v1))
	g.Expect(after.UID).To(Equal(before.UID))
	g.Expect(after.Labels).To(HaveLen(len(before.Labels)))
	d.quiet(t)
}

// Of two policies for an unclaimed object, the better one gets it, in whatever version it selects it.
func TestBetterPolicyGetsObjectInAnyVersion(t *testing.T) {
	s := start(t)
	d := s.databases(t)
	vague := d.selecting("a-vague", d.v1, "edge-2")
	vague.Spec.ResourceSelectors[0].Name = ""
	s.create(t, vague, d.selecting("precise", d.beta, "edge-1"), d.orders(d.v1))
	s.eventually(t, ordersBinding, claimedBy("precise"))
	s.eventually(t, ordersBinding, readAs(d.beta))
	d.quiet(t)
	s.eventually(t, ordersBinding, claimedBy("precise"))

	// One that preempts takes it from a policy of another version.
	s.change(t, vague, func(spec *policyv1alpha1.PropagationSpec) {
		spec.Priority, spec.Preemption = ptr.To[int32](5), policyv1alpha1.PreemptAlways
	})
	s.eventually(t, ordersBinding, claimedBy("a-vague"))
	s.eventually(t, ordersBinding, readAs(d.v1))
	d.quiet(t)
	s.eventually(t, ordersBinding, claimedBy("a-vague"))
	NewWithT(t).Expect(s.writes.notes(reasonPreemptPolicySucceed)).To(HaveLen(1))
}

// A policy is changed to select the object in another version. The binding follows once, and remains the same object.
func TestBindingFollowsPolicyToAnotherVersion(t *testing.T) {
	s := start(t)
	d := s.databases(t)
	g := NewWithT(t)
	p := d.selecting("orders", d.beta, "edge-1")
	s.create(t, p, d.orders(d.v1))
	before := s.eventually(t, ordersBinding, claimedBy("orders"))
	d.quiet(t)
	since := len(s.writes.requests())
	s.change(t, p, func(spec *policyv1alpha1.PropagationSpec) { spec.ResourceSelectors[0].APIVersion = d.v1 })
	after := s.eventually(t, ordersBinding, readAs(d.v1))
	g.Expect(after.UID).To(Equal(before.UID))
	g.Expect(after.Labels).To(Equal(before.Labels))
	d.quiet(t)
	g.Expect(d.changes(since)).To(Equal([]string{"PATCH orders-database"}))

	// One that selects it in both leaves it in the version in which it is.
	since = len(s.writes.requests())
	s.change(t, p, func(spec *policyv1alpha1.PropagationSpec) {
		spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{named(d.beta, "Database", "orders"), named(d.v1, "Database", "orders")}
	})
	d.quiet(t)
	s.eventually(t, ordersBinding, readAs(d.v1))
	g.Expect(d.changes(since)).To(BeEmpty())
}

// The version that the policy selects is served no more, and another one is: the application stays as it is, with or without
// another policy that selects it there, and its author hears what to do. The garbage collector, which may not know the kind yet, finds its owner.
func TestAnApplicationStaysWhenItsVersionIsServedNoMore(t *testing.T) {
	for name, rival := range map[string]bool{"beside another policy": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			d := s.databases(t)
			g := NewWithT(t)
			p := d.selecting("orders", d.beta, "edge-1")
			s.create(t, p, d.orders(d.v1))
			s.eventually(t, ordersBinding, claimedBy("orders"))
			if rival {
				s.create(t, d.selecting("rival", d.v1, "edge-2"))
			}
			d.quiet(t)
			before := s.eventually(t, ordersBinding, claimedBy("orders"))
			since := len(s.writes.requests())
			d.serve(t, false)
			g.Eventually(func() []string { return s.writes.notes(reasonVersionNotServed) }, "1m", "50ms").Should(ConsistOf(And(
				ContainSubstring(`Database "orders"`), ContainSubstring(d.beta), ContainSubstring("policy("+s.namespace+"/orders)"),
				ContainSubstring("name "+d.v1))))
			g.Eventually(func() []string { return s.writes.notes(reasonKindNotServed) }, "1m", "50ms").Should(ConsistOf(ContainSubstring("name " + d.v1)))
			d.quiet(t)
			b := s.eventually(t, ordersBinding, claimedBy("orders"))
			g.Expect(b.ResourceVersion).To(Equal(before.ResourceVersion), "the binding was not written")
			g.Expect(d.changes(since)).To(BeEmpty())
			g.Expect(s.writes.notes(reasonVersionNotServed)).To(HaveLen(1), "the event is emitted once")

			// Served again, or selected in the version that is served, it is followed.
			if rival {
				d.serve(t, true)
				edit := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":2}}`))
				g.Expect(s.client.Patch(t.Context(), d.orders(d.v1), edit)).To(Succeed())
				s.eventually(t, ordersBinding, func(g Gomega, b *workv1alpha2.ResourceBinding) {
					g.Expect(b.Spec.Resource.ResourceVersion).NotTo(Equal(before.Spec.Resource.ResourceVersion))
				})
				d.quiet(t)
				s.eventually(t, ordersBinding, readAs(d.beta))
				return
			}
			s.change(t, p, func(spec *policyv1alpha1.PropagationSpec) { spec.ResourceSelectors[0].APIVersion = d.v1 })
			s.eventually(t, ordersBinding, readAs(d.v1))
			d.quiet(t)
			after := s.eventually(t, ordersBinding, claimedBy("orders"))
			g.Expect(after.UID).To(Equal(before.UID))
			g.Expect(d.changes(since)).To(Equal([]string{"PATCH orders-database"}))
		})
	}
}

// An earlier version of the hub set the owner in the version that the policy selects. When that is not served any more, the binding must
// stay, and be deleted with its template. While the version is served, a lazy policy leaves it as it is.
func TestBindingOwnedInUnservedVersionIsCollected(t *testing.T) {
	s := start(t)
	d := s.databases(t)
	g := NewWithT(t)
	p := d.selecting("orders", d.beta, "edge-1")
	p.Spec.ActivationPreference = policyv1alpha1.LazyActivation
	s.create(t, p, d.orders(d.v1))
	b := s.eventually(t, ordersBinding, claimedBy("orders"))
	d.quiet(t)
	d.collected(t)
	before := b.DeepCopy()
	bindings.OwnedAs(b, d.beta)
	g.Expect(s.client.Patch(t.Context(), b, client.MergeFrom(before))).To(Succeed())
	d.quiet(t)
	b = s.eventually(t, ordersBinding, claimedBy("orders"))
	g.Expect(bindings.OwnedIn(b)).To(Equal(d.beta), "the owner reference must still be the old one")

	d.serve(t, false)
	s.eventually(t, ordersBinding, readAs(d.beta))
	d.quiet(t)
	g.Expect(s.client.Delete(t.Context(), d.orders(d.v1))).To(Succeed())
	s.eventually(t, ordersBinding, isGoing)
}

// The version that the API preferred, and that owner references have, is removed. Bindings must still be deleted with their templates.
func TestBindingOwnedInRemovedVersionIsCollected(t *testing.T) {
	s := start(t)
	d := s.databases(t)
	g := NewWithT(t)
	s.create(t, d.selecting("orders", d.v1, "edge-1"), d.orders(d.v1))
	b := s.eventually(t, ordersBinding, claimedBy("orders"))
	d.quiet(t)
	d.collected(t)
	p := s.policy("orders")
	s.change(t, p, func(spec *policyv1alpha1.PropagationSpec) { spec.ActivationPreference = policyv1alpha1.LazyActivation })
	d.quiet(t)
	before := b.DeepCopy()
	bindings.OwnedAs(b, path.Dir(d.v1)+"/v2") // as if there had been one
	g.Expect(s.client.Patch(t.Context(), b, client.MergeFrom(before))).To(Succeed())
	d.quiet(t)
	g.Expect(s.client.Delete(t.Context(), d.orders(d.v1))).To(Succeed())
	s.eventually(t, ordersBinding, isGoing)
}

func isGoing(g Gomega, b *workv1alpha2.ResourceBinding) { g.Expect(b.DeletionTimestamp).NotTo(BeNil()) }

// collected waits until the garbage collector knows the kind: it takes an object of it away that has no owner any more.
func (d *databases) collected(t *testing.T) {
	t.Helper()
	orphan := d.orders(d.v1)
	orphan.SetName("orphan")
	orphan.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: uuid.NewUUID()}})
	d.create(t, orphan)
	NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(d.client.Get(t.Context(), client.ObjectKeyFromObject(orphan), orphan))
	}, "2m", "50ms").Should(BeTrue())
}

// A lazy policy that is changed to select another version waits for an edit, as with any other change. The content reads differently in
// that version, which is not an edit.
func TestLazyPolicyWaitsInAnotherVersion(t *testing.T) {
	s := start(t)
	d := s.databases(t)
	g := NewWithT(t)
	p := d.selecting("orders", d.beta, "edge-1")
	p.Spec.ActivationPreference = policyv1alpha1.LazyActivation
	s.create(t, p, d.orders(d.v1))
	s.eventually(t, ordersBinding, readAs(d.beta))
	d.quiet(t)
	s.change(t, p, func(spec *policyv1alpha1.PropagationSpec) {
		spec.ResourceSelectors[0].APIVersion, spec.Placement.ClusterAffinity.ClusterNames = d.v1, []string{"edge-2"}
	})
	g.Eventually(func() []string { return s.writes.notes(reasonWaitForEdit) }, "1m", "50ms").Should(ConsistOf(ContainSubstring("with the next edit")))
	d.quiet(t)
	b := s.eventually(t, ordersBinding, readAs(d.beta))
	goesTo("edge-1")(g, b)
	edit := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":2}}`))
	g.Expect(s.client.Patch(t.Context(), d.orders(d.v1), edit)).To(Succeed())
	s.eventually(t, ordersBinding, readAs(d.v1))
	s.eventually(t, ordersBinding, goesTo("edge-2"))
	d.quiet(t)
}

// The watch of a version ends with the last policy that names it, however many objects of the kind have a policy in another version.
func TestAVersionThatNoPolicyNamesIsWatchedNoMore(t *testing.T) {
	s := start(t)
	d := s.databases(t)
	g := NewWithT(t)
	p := d.selecting("orders", d.beta, "edge-1")
	s.create(t, p, d.orders(d.v1))
	s.eventually(t, ordersBinding, readAs(d.beta))
	s.change(t, p, func(spec *policyv1alpha1.PropagationSpec) { spec.ResourceSelectors[0].APIVersion = d.v1 })
	s.eventually(t, ordersBinding, readAs(d.v1))
	d.quiet(t)
	before := s.writes.watched(d.beta + "/databases")
	g.Expect(before).To(BeNumerically(">=", 1), "the version is watched, perhaps more than once")

	// It begins anew with the next policy, so it had ended.
	s.create(t, d.selecting("later", d.beta, "edge-2"))
	d.quiet(t)
	g.Eventually(func() int { return s.writes.watched(d.beta + "/databases") }, "1m", "50ms").Should(BeNumerically(">", before))
	s.eventually(t, ordersBinding, func(g Gomega, b *workv1alpha2.ResourceBinding) {
		c, _ := claim.On(b)
		g.Expect(c.Name).To(Equal("orders"))
	})
}

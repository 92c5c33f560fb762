package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

// braking is the set of objects of many templates in the member shop-3, with the default deletion brake.
type braking struct {
	*system

	t         *testing.T
	ns        string
	templates []*unstructured.Unstructured
}

const braked = "shop-3"

// newBraking propagates more objects to a member than may be deleted within a minute.
func newBraking(t *testing.T) *braking {
	t.Helper()
	b := &braking{system: exclusive(t), t: t}
	ctx := context.WithoutCancel(t.Context())
	b.setBrake(ctx, &clusterv1alpha1.DeletionBrake{Objects: 20, Percent: 1}) // whatever other tests have there
	t.Cleanup(func() { b.setBrake(ctx, nil) })
	b.ns = b.namespace(t)
	b.create(t, builder.MakePolicy(b.ns, "all").SelectLabel("v1", "ConfigMap", "app", "yes").Clusters(braked).Obj())
	for i := range 40 {
		b.templates = append(b.templates, builder.MakeConfigMap(b.ns, fmt.Sprintf("settings-%d", i), "a", "b").Label("app", "yes").Obj())
	}
	b.send()
	eventually(t, func(g Gomega) { g.Expect(b.inShop(g)).To(HaveLen(len(b.templates))) })
	return b
}

// setBrake sets the deletion brake; nil is the default.
func (b *braking) setBrake(ctx context.Context, brake *clusterv1alpha1.DeletionBrake) {
	b.t.Helper()
	g := NewWithT(b.t)
	live := &clusterv1alpha1.Cluster{}
	g.Expect(b.hub.Client(b.t).Get(ctx, client.ObjectKey{Name: braked}, live)).To(Succeed())
	before := live.DeepCopy()
	live.Spec.DeletionBrake = brake
	g.Expect(b.hub.Client(b.t).Patch(ctx, live, client.MergeFrom(before))).To(Succeed())
}

func (b *braking) send() {
	b.t.Helper()
	for _, template := range b.templates {
		b.create(b.t, template.DeepCopy())
	}
}

// inShop returns the objects in the member.
func (b *braking) inShop(g Gomega) map[string]types.UID {
	var list corev1.ConfigMapList
	g.Expect(b.member(braked).Client(b.t).List(b.t.Context(), &list, client.InNamespace(b.ns), client.MatchingLabels{"app": "yes"})).To(Succeed())
	out := map[string]types.UID{}
	for i := range list.Items {
		out[list.Items[i].Name] = list.Items[i].UID
	}
	return out
}

// held returns the Cluster's condition about deletions.
func (b *braking) held(g Gomega) metav1.Condition {
	live := &clusterv1alpha1.Cluster{}
	g.Expect(b.hub.Client(b.t).Get(b.t.Context(), client.ObjectKey{Name: braked}, live)).To(Succeed())
	condition := meta.FindStatusCondition(live.Status.Conditions, clusterv1alpha1.ClusterDeletionsHeld)
	g.Expect(condition).NotTo(BeNil())
	return *condition
}

// deleteAll deletes the templates on the hub, and returns the objects left in the member once its agent holds
// deletions.
func (b *braking) deleteAll() (left map[string]types.UID) {
	b.t.Helper()
	g := NewWithT(b.t)
	g.Expect(b.hub.Client(b.t).DeleteAllOf(b.t.Context(), &corev1.ConfigMap{}, client.InNamespace(b.ns), client.MatchingLabels{"app": "yes"})).To(Succeed())
	eventually(b.t, func(g Gomega) { g.Expect(b.held(g).Status).To(Equal(metav1.ConditionTrue)) })
	// Objects released a moment before may still be terminating.
	since := time.Now()
	eventually(b.t, func(g Gomega) {
		if now := b.inShop(g); !maps.Equal(now, left) {
			left, since = now, time.Now()
		}
		g.Expect(time.Since(since)).To(BeNumerically(">=", quiet))
	})
	g.Expect(len(left)).To(BeNumerically(">=", len(b.templates)-20), "as many as may go within a minute")
	return left
}

func TestDeletionsOfManyObjectsWaitForAPersonWhoDoesAsTheClusterSays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := newBraking(t)
	left := b.deleteAll()

	// Neither time nor a restart of the agent releases them.
	b.stop(t, braked)
	b.startAgent(context.WithoutCancel(t.Context()), t, braked)
	g.Consistently(func(g Gomega) { g.Expect(b.inShop(g)).To(Equal(left)) }).WithTimeout(quiet).WithPolling(poll).Should(Succeed())
	said := b.held(g).Message
	g.Expect(b.held(g).Status).To(Equal(metav1.ConditionTrue))

	word := regexp.MustCompile(regexp.QuoteMeta(contract.DeletionsApprovedAnnotation) + `=(\S+)`).FindStringSubmatch(said)
	g.Expect(word).NotTo(BeNil(), said)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{contract.DeletionsApprovedAnnotation: word[1]}}})
	g.Expect(err).NotTo(HaveOccurred())
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: braked}}
	g.Expect(b.hub.Client(t).Patch(t.Context(), cluster, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(b.inShop(g)).To(BeEmpty())
		g.Expect(b.held(g).Status).To(Equal(metav1.ConditionFalse))
	})
}

func TestDeletionsThatAreTakenBackLoseNothingMore(t *testing.T) {
	t.Parallel()
	b := newBraking(t)
	left := b.deleteAll()
	b.send()
	eventually(t, func(g Gomega) {
		now := b.inShop(g)
		g.Expect(now).To(HaveLen(len(b.templates)))
		for name, uid := range left {
			g.Expect(now).To(HaveKeyWithValue(name, uid), "the object of before")
		}
		g.Expect(b.held(g).Status).To(Equal(metav1.ConditionFalse))
	})
}

package integration

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	agentsetup "fairlead.dev/agent/setup"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/test/builder"
)

// wire is an agent's connection to its hub, which can be cut, and on which lists of customizations can be slow.
type wire struct {
	isCut atomic.Bool
	// slow is the delay of requests for customizations, in nanoseconds.
	slow atomic.Int64
}

func (w *wire) wrap(next http.RoundTripper) http.RoundTripper { return wired{w, next} }

type wired struct {
	*wire

	next http.RoundTripper
}

func (w wired) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.isCut.Load() {
		return nil, errors.New("the wire is cut")
	}
	if slow := time.Duration(w.slow.Load()); slow > 0 && strings.HasSuffix(r.URL.Path, "/resourceinterpretercustomizations") {
		select {
		case <-time.After(slow):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return w.next.RoundTrip(r)
}

// TestWhatBelongsToTheMemberOutlastsAStartWithoutTheHubsRules starts an agent while its hub is away, and with a hub
// that is late with the interpreter customizations, with and without a local copy of them.
func TestWhatBelongsToTheMemberOutlastsAStartWithoutTheHubsRules(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := exclusive(t)
	ns := s.namespace(t)
	definition := builder.MakeDefinition("wells.example.com", "v1", "Well")
	for _, c := range append(s.members, s.hub) {
		g.Expect(c.Client(t).Create(t.Context(), definition.DeepCopy())).To(Succeed())
	}
	s.create(t, &configv1alpha1.ResourceInterpreterCustomization{
		ObjectMeta: metav1.ObjectMeta{Name: "wells"},
		Spec: configv1alpha1.ResourceInterpreterCustomizationSpec{
			Target: configv1alpha1.CustomizationTarget{APIVersion: "wells.example.com/v1", Kind: "Well"},
			Customizations: configv1alpha1.CustomizationRules{Retention: &configv1alpha1.LuaRule{
				LuaScript: `function Retain(desired, live) desired.spec.depth = live.spec.depth return desired end`,
			}},
		},
	})
	const member = "shop-1"
	hub, state := &wire{}, t.TempDir()
	start := func() {
		s.startAgentWith(context.WithoutCancel(t.Context()), t, member, func(o *agentsetup.Options) {
			o.StateDir = state
			o.Hub.Wrap(hub.wrap)
		})
	}
	t.Cleanup(func() { // restores the shared state for other tests
		hub.isCut.Store(false)
		hub.slow.Store(0)
		s.stop(t, member)
		s.startAgent(context.WithoutCancel(t.Context()), t, member)
	})
	s.stop(t, member)
	start()
	eventually(t, func(g Gomega) {
		cluster := &clusterv1alpha1.Cluster{}
		g.Expect(s.hub.Client(t).Get(t.Context(), client.ObjectKey{Name: member}, cluster)).To(Succeed())
		g.Expect(cluster.Status.APIEnablements).To(ContainElement(HaveField("GroupVersion", "wells.example.com/v1")))
	})
	template := builder.MakeTemplate("wells.example.com/v1", "Well", ns, "old").Set(int64(2), "spec", "depth").Set(int64(1), "spec", "buckets").Obj()
	plain := builder.MakeConfigMap(ns, "plain", "a", "1").Obj()
	s.create(t, template, plain, builder.MakePolicy(ns, "all").Select("wells.example.com/v1", "Well", "old").Select("v1", "ConfigMap", "plain").Clusters(member).Obj())
	eventually(t, func(g Gomega) {
		s.inMember(t, g, member, template)
		s.inMember(t, g, member, plain)
	})
	in := s.member(member).Client(t)
	merge := func(patch string) {
		g.Expect(in.Patch(t.Context(), template.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
	}
	merge(`{"spec":{"depth":20}}`)
	has := func(buckets int) func(g Gomega) {
		return func(g Gomega) {
			live := s.inMember(t, g, member, template)
			g.Expect(integer(live, "spec", "buckets")).To(BeEquivalentTo(buckets))
			g.Expect(integer(live, "spec", "depth")).To(BeEquivalentTo(20), "it belongs to the member")
		}
	}

	// The hub is away: with the local copy, fields that do not belong to the member are reverted.
	s.stop(t, member)
	merge(`{"spec":{"buckets":7}}`)
	g.Expect(in.Delete(t.Context(), plain.DeepCopy())).To(Succeed())
	hub.isCut.Store(true)
	start()
	eventually(t, func(g Gomega) { s.inMember(t, g, member, plain) })
	eventually(t, has(1))

	// Without a local copy missing objects are created, and existing ones are left alone until the hub answers.
	s.stop(t, member)
	kept, err := filepath.Glob(filepath.Join(state, "journal", member, "rules"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(HaveLen(1))
	g.Expect(os.Remove(kept[0])).To(Succeed())
	merge(`{"spec":{"buckets":8}}`)
	g.Expect(in.Delete(t.Context(), plain.DeepCopy())).To(Succeed())
	start()
	eventually(t, func(g Gomega) { s.inMember(t, g, member, plain) })
	g.Consistently(has(8)).WithTimeout(quiet).Should(Succeed())
	hub.isCut.Store(false)
	eventually(t, has(1))

	// The hub sends the customizations last, and there is no local copy.
	s.stop(t, member)
	g.Expect(os.Remove(kept[0])).To(Succeed())
	merge(`{"spec":{"buckets":9}}`)
	hub.slow.Store(int64(10 * time.Second))
	start()
	eventually(t, func(g Gomega) { // updated once the customizations arrive, and never without them
		depth := integer(s.inMember(t, g, member, template), "spec", "depth")
		if depth != 20 {
			t.Fatalf("it has depth %d", depth)
		}
		has(1)(g)
	})
}

package integration

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/test/builder"
)

func TestTheHubGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := exclusive(t)
	ns := s.namespace(t)
	s.create(t, builder.MakePolicy(ns, "all").SelectLabel("v1", "ConfigMap", "app", "yes").Clusters("shop-1").Obj())
	var templates []*unstructured.Unstructured
	create := func(n int) {
		for range n {
			template := builder.MakeConfigMap(ns, fmt.Sprintf("settings-%d", len(templates)), "a", "b").Label("app", "yes").Obj()
			s.create(t, template)
			templates = append(templates, template)
		}
	}
	create(10)
	s.stop(t, hubName) // in the middle of these
	create(10)
	doomed := templates[0]
	g.Expect(s.hub.Client(t).Delete(t.Context(), doomed.DeepCopy())).To(Succeed())
	s.startHub(context.WithoutCancel(t.Context()), t)

	eventually(t, func(g Gomega) {
		for _, template := range templates[1:] {
			s.inMember(t, g, "shop-1", template)
		}
		g.Expect(s.get(t, s.member("shop-1"), doomed)).To(Satisfy(apierrors.IsNotFound))
	})
}

func TestAnAgentGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := exclusive(t)
	ns := s.namespace(t)
	s.create(t, builder.MakePolicy(ns, "all").Select("v1", "ConfigMap", "").Clusters("shop-1").Obj())
	kept := builder.MakeConfigMap(ns, "kept", "colour", "blue").Obj()
	doomed := builder.MakeConfigMap(ns, "doomed", "colour", "blue").Obj()
	s.create(t, kept, doomed)
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "shop-1", kept)
		s.inMember(t, g, "shop-1", doomed)
	})
	uid := s.inMember(t, g, "shop-1", kept).GetUID()

	// While the agent is away, one template is created, one changed, one deleted.
	s.stop(t, "shop-1")
	added := builder.MakeConfigMap(ns, "added", "colour", "blue").Obj()
	s.create(t, added)
	s.update(t, kept, func(obj *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedField(obj.Object, "green", "data", "colour")).To(Succeed())
	})
	g.Expect(s.hub.Client(t).Delete(t.Context(), doomed.DeepCopy())).To(Succeed())
	s.startAgent(context.WithoutCancel(t.Context()), t, "shop-1")

	eventually(t, func(g Gomega) {
		s.inMember(t, g, "shop-1", added)
		live := s.inMember(t, g, "shop-1", kept)
		data, _, _ := unstructured.NestedStringMap(live.Object, "data")
		g.Expect(data).To(HaveKeyWithValue("colour", "green"))
		g.Expect(live.GetUID()).To(Equal(uid), "the same object as before")
		g.Expect(s.get(t, s.member("shop-1"), doomed)).To(Satisfy(apierrors.IsNotFound))
	})
}

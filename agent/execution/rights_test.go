package execution

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// clusterBinding and binding give the account of a namespace its rights.
func clusterBinding() client.Object {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"}, ObjectMeta: metav1.ObjectMeta{Name: "deployer", UID: "everywhere"},
	}
}

func binding(namespace string) client.Object {
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "account", UID: types.UID("in-" + namespace)},
	}
}

// onlyBy makes the member forbid deletes of ConfigMaps once the object that grants the right is gone.
func onlyBy(rights client.Object) interceptor.Funcs {
	return interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
		live, _ := rights.DeepCopyObject().(client.Object)
		if kind := obj.GetObjectKind().GroupVersionKind(); kind.Kind == "ConfigMap" && c.Get(ctx, client.ObjectKeyFromObject(rights), live) != nil {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, obj.GetName(), errSilent)
		}
		return c.Delete(ctx, obj, opts...)
	}}
}

// bound is an agent that acts as the accounts of namespaces, whose rights are those given.
func bound(t *testing.T, works map[string][]client.Object, rights client.Object) *ended {
	t.Helper()
	e := newEnded(t, works)
	member, ok := e.memberClient.(client.WithWatch)
	NewWithT(t).Expect(ok).To(BeTrue())
	e.memberClient, e.account = interceptor.NewClient(member, onlyBy(rights)), "deployer"
	e.namespacedKinds = func(context.Context) ([]schema.GroupVersionKind, error) {
		return []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding")}, nil
	}
	return e
}

func TestRightsEndAfterTheObjectsDeletedByThem(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		works  map[string][]client.Object
		rights client.Object
		first  string
	}{
		"the Namespace and rights everywhere": {
			works:  map[string][]client.Object{"around": {space("shop"), clusterBinding()}, "inside": {inSpace("shop")}},
			rights: clusterBinding(), first: "around",
		},
		"the Namespace and rights in it": {
			works:  map[string][]client.Object{"around": {space("shop"), binding("shop")}, "inside": {inSpace("shop")}},
			rights: binding("shop"), first: "around",
		},
		"the Namespace, what is in it and rights": {
			works:  map[string][]client.Object{"around": {space("shop"), inSpace("shop"), binding("shop"), clusterBinding()}},
			rights: clusterBinding(), first: "around",
		},
		"the rights alone, in a Namespace": {
			works:  map[string][]client.Object{"rights": {binding("shop")}, "around": {space("shop")}, "inside": {inSpace("shop")}},
			rights: binding("shop"), first: "rights",
		},
		"the rights alone, everywhere": {
			works:  map[string][]client.Object{"rights": {clusterBinding()}, "inside": {inSpace("shop")}},
			rights: clusterBinding(), first: "rights",
		},
		"rights beside what another deletes by those of that one": {
			works:  map[string][]client.Object{"a": {inSpace("a"), binding("b")}, "b": {inSpace("b"), binding("a")}},
			rights: binding("a"), first: "a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e := bound(t, tc.works, tc.rights)
			for range 2 {
				for _, work := range append([]string{tc.first}, names(tc.works)...) {
					e.look(t, work, 20)
				}
			}
			for _, objects := range tc.works {
				for _, object := range objects {
					g.Expect(e.there(t, object)).To(BeFalse(), "%T %s", object, object.GetName())
				}
			}
			left := &workv1alpha1.WorkList{}
			g.Expect(e.hubClient.List(t.Context(), left)).To(Succeed())
			g.Expect(left.Items).To(BeEmpty())
		})
	}
}

func names(works map[string][]client.Object) []string {
	var out []string
	for name := range works {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func TestRightsWaitOnlyForTheObjectsThatNeedThem(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	works := map[string][]client.Object{"rights": {binding("shop")}, "inside": {inSpace("shop")}, "elsewhere": {inSpace("lab")}, "around": {space("mall")}}
	e := bound(t, works, binding("shop"))
	e.look(t, "rights", 1)
	g.Expect(e.there(t, binding("shop"))).To(BeTrue())
	for end := e.clock.Now().Add(40 * time.Second); e.clock.Now().Before(end); e.clock.Step(time.Second) {
		e.look(t, "rights", 1)
	}
	g.Expect(e.notes).To(HaveExactElements(And(
		HavePrefix("ContentsWanted: RoleBinding shop/account"), ContainSubstring("ConfigMap shop/settings of Work inside"),
		ContainSubstring("may need these rights"))))
	e.look(t, "inside", 20)
	g.Expect(e.there(t, binding("shop"))).To(BeFalse(), "it is woken by what it waits for")

	e = bound(t, works, binding("shop"))
	e.account = ""
	e.look(t, "rights", 1)
	g.Expect(e.there(t, binding("shop"))).To(BeFalse(), "the agent's own rights come from elsewhere")
}

// TestASweepRemovesWhatGivesRightsLast covers an agent that leaves its hub, and deletes as the namespaces' accounts.
func TestASweepRemovesWhatGivesRightsLast(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"all goes": false, "something does not": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			rights, inside := clusterBinding(), inShop("settings", ownWorks, "inside")
			rights.SetLabels(marks())
			rights.SetAnnotations(markedBy(ownWorks, "rights"))
			funcs := onlyBy(rights)
			if refused {
				funcs.Delete = func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
					if obj.GetName() == "settings" {
						return errSilent
					}
					return c.Delete(ctx, obj, opts...)
				}
			}
			member := fakeClient(t, funcs, rights, inside)
			_, err := sweeping(member).Sweep(t.Context(), []*workv1alpha1.Work{
				workWith(t, "rights", clusterBinding()), workWith(t, "inside", inShop("settings", "", "")),
			}, false)
			isThere := member.Get(t.Context(), client.ObjectKeyFromObject(rights), rights) == nil
			g.Expect(isThere).To(Equal(refused))
			if !refused {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring("may need its rights")))
			}
		})
	}
}

package execution

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/kube"
)

func fakeClient(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	scheme, err := kube.NewScheme()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
}

// listingSecrets makes lists of Secrets fail.
func listingSecrets(err error) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if list.GetObjectKind().GroupVersionKind().Kind == "SecretList" {
			return err
		}
		return c.List(ctx, list, opts...)
	}}
}

// goneOnceListed deletes the listed ConfigMaps before the response is returned.
func goneOnceListed() interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if err := c.List(ctx, list, opts...); err != nil || list.GetObjectKind().GroupVersionKind().Kind != "ConfigMapList" {
			return err
		}
		return c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace("shop"))
	}}
}

func TestContentsOfANamespaceAreListed(t *testing.T) {
	t.Parallel()
	secrets := schema.GroupResource{Resource: "secrets"}
	broken := errors.New("broken")
	tests := map[string]struct {
		funcs   interceptor.Funcs
		objects []client.Object
		hub     []client.Object
		want    []string
		wantErr error
		first   string // an object that goes before
	}{
		"nobody":   {},
		"somebody": {objects: []client.Object{inShop("theirs", "", "")}, want: []string{"ConfigMap shop/theirs"}},
		"not an object that its Work deletes first": {
			objects: []client.Object{inShop("ours", ownWorks, "inside")}, hub: []client.Object{workWith(t, "inside", inShop("ours", "", ""))}, first: "ConfigMap shop/ours",
		},
		"an object whose Work the hub does not have": {
			objects: []client.Object{inShop("left", ownWorks, "inside")}, want: []string{"ConfigMap shop/left"},
		},
		"not one whose Work deleted it when it was listed, and has ended since": {
			funcs: goneOnceListed(), objects: []client.Object{inShop("ours", ownWorks, "inside")},
		},
		"an object of another hub": {
			objects: []client.Object{inShop("other", "karmada-es-other", "inside")}, want: []string{"ConfigMap shop/other"},
		},
		"a copy of an object whose Work may go next, under another name": {
			objects: []client.Object{inShop("ours", ownWorks, "inside"), inShop("copy", ownWorks, "inside")},
			hub:     []client.Object{workWith(t, "inside", inShop("ours", "", ""))}, want: []string{"ConfigMap shop/copy"},
		},
		"what has our label alone": {objects: []client.Object{labelled("inherits")}, want: []string{"ConfigMap shop/inherits"}},
		"an object that its Work has no more": {
			objects: []client.Object{inShop("lost", ownWorks, "inside")}, hub: []client.Object{workWith(t, "inside", inShop("kept", "", ""))},
			want: []string{"ConfigMap shop/lost"},
		},
		"an object of which its Work has one of another kind": {
			objects: []client.Object{inShop("n", ownWorks, "inside")}, hub: []client.Object{workWith(t, "inside", node(nil, nil))},
			want: []string{"ConfigMap shop/n"},
		},
		"not what is in every namespace, whatever label it has":          {objects: []client.Object{labelled("kube-root-ca.crt")}},
		"an object that goes, and lets go first of what is made from it": {objects: []client.Object{lettingGo()}, wantErr: errLettingGo},
		"not an object that goes since its Work has ended":               {objects: []client.Object{going(inShop("ours", ownWorks, "ended"))}},
		"not what has the marks of what it is made from, the Work of which has ended": {
			objects: []client.Object{madeFrom(inShop("made", ownWorks, "ended"), "v1", "Secret", "s")},
		},
		"not what is made from what goes since its Work has ended": {
			objects: []client.Object{ownedBy("v1", "Node", "n"), going(node(marks(), markedBy(ownWorks, "ended")))},
		},
		"whose it is that is made from a copy in no namespace": {
			objects: []client.Object{ownedBy("v1", "Node", "n"), node(marks(), markedBy(ownWorks, "inside"))},
			hub:     []client.Object{workWith(t, "inside", inShop("ours", "", ""))}, want: []string{"ConfigMap shop/made"},
		},
		"whose it is that is made from what has our label alone": {
			objects: []client.Object{ownedBy("v1", "Node", "n"), node(marks(), nil)}, want: []string{"ConfigMap shop/made"},
		},
		"nobody, if it is made from what is in the Namespace and counts itself": {objects: []client.Object{ownedBy("v1", "Secret", "s")}},
		"nobody, if it is made from the Namespace":                              {objects: []client.Object{ownedBy("v1", "Namespace", "shop")}},
		"nobody, if what it is made from is gone":                               {objects: []client.Object{ownedBy("v1", "Node", "gone")}},
		"nobody, if what it is made from is another one by now": {
			objects: []client.Object{ownedBy("v1", "Node", "n"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "another"}}},
		},
		"nobody, and nothing to wait for, if it is made from what a Work has in no namespace: that need not end": {
			objects: []client.Object{ownedBy("v1", "Node", "n"), node(marks(), markedBy(ownWorks, "inside"))}, hub: []client.Object{workWith(t, "inside", node(nil, nil))},
		},
		"whose it is that is made from something in no namespace": {
			objects: []client.Object{ownedBy("v1", "Node", "n"), node(nil, nil)}, want: []string{"ConfigMap shop/made"},
		},
		"whose it is that is made from what stays when its Work ends": {
			objects: []client.Object{ownedBy("v1", "Node", "n"), node(marks(), markedBy(ownWorks, "unknown"))}, want: []string{"ConfigMap shop/made"},
		},
		"whose it is that is made from what nobody knows": {
			objects: []client.Object{ownedBy("example.com/v1", "Widget", "w")}, want: []string{"ConfigMap shop/made"},
		},
		"more than are named": {
			objects: []client.Object{inShop("a", "", ""), inShop("b", "", ""), inShop("c", "", ""), inShop("d", "", "")},
			want:    []string{"ConfigMap shop/a", "ConfigMap shop/b", "ConfigMap shop/c"},
		},
		"what the agent may not see counts, and hides nothing else": {
			funcs:   listingSecrets(apierrors.NewForbidden(secrets, "", broken)),
			objects: []client.Object{inShop("theirs", "", "")},
			want:    []string{"any Secret, which this agent may not list", "ConfigMap shop/theirs"},
		},
		"nobody of a kind that went meanwhile": {
			funcs: listingSecrets(apierrors.NewNotFound(secrets, "")),
		},
		"nobody of a kind that the member does not know any more": {
			funcs: listingSecrets(&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Secret"}}),
		},
		"nobody of a kind that cannot be listed": {
			funcs: listingSecrets(apierrors.NewMethodNotSupported(secrets, "list")),
		},
		"nobody knows, if the member does not answer": {
			funcs: listingSecrets(broken), wantErr: broken,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			member := fakeClient(t, tc.funcs, append(tc.objects, namespaceOf())...)
			r := &Reconciler{
				memberClient: member, reader: member, namespace: ownWorks, discovery: servedKinds{},
				works: newWorks(fakeClient(t, interceptor.Funcs{}, tc.hub...), nil),
				namespacedKinds: func(context.Context) ([]schema.GroupVersionKind, error) {
					return []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("ConfigMap")}, nil
				},
			}
			m := plan.Parse(workWith(t, "around", namespaceOf()))[0]
			got, err := r.foreign(t.Context(), m)
			if tc.wantErr != nil {
				g.Expect(err).To(MatchError(tc.wantErr))
				return
			}
			if tc.first != "" {
				g.Expect(err).To(MatchError(ContainSubstring("Namespace shop is not deleted before " + tc.first + ", which")))
				result, _ := classify(m.Object, err)
				g.Expect(result).To(Equal(plan.Waiting))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(got).To(Equal(tc.want))
			m.DeleteContents = true
			g.Expect(r.foreign(t.Context(), m)).To(BeEmpty(), "they may go")
		})
	}
}

// A CustomResourceDefinition takes what is of it with it, whoever it was made from.
func TestContentsOfADefinitionAreListed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		owner client.Object
		want  []string
	}{
		"an object of others in the namespace":                           {owner: inShop("owner", "", ""), want: []string{"Widget shop/w"}},
		"not one from the hub, which the definition does not take along": {owner: inShop("owner", ownWorks, "inside")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			funcs := interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					if definition, ok := obj.(*unstructured.Unstructured); ok {
						definition.Object["spec"] = map[string]any{
							"group": "example.com", "names": map[string]any{"kind": "Widget"}, "versions": []any{map[string]any{"name": "v1", "served": true}},
						}
						return nil
					}
					return c.Get(ctx, key, obj, opts...)
				},
				List: func(_ context.Context, _ client.WithWatch, into client.ObjectList, _ ...client.ListOption) error {
					list, ok := into.(*metav1.PartialObjectMetadataList)
					g.Expect(ok).To(BeTrue())
					list.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{
						Namespace: "shop", Name: "w",
						OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "owner"}},
					}}}
					return nil
				},
			}
			member := fakeClient(t, funcs, tc.owner)
			r := &Reconciler{
				memberClient: member, reader: member, namespace: ownWorks, discovery: servedKinds{},
				works: newWorks(fakeClient(t, interceptor.Funcs{}, workWith(t, "inside", inShop("owner", "", ""))), nil),
			}
			definition := plan.Object{
				GroupVersionKind: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
				NamespacedName:   types.NamespacedName{Name: "widgets.example.com"},
			}
			g.Expect(r.foreign(t.Context(), plan.Manifest{Object: definition})).To(Equal(tc.want))
		})
	}
}

// TestANamespaceIsLookedThroughPageByPage checks that lists of a large member are paged, and end at the first page
// with a hit.
func TestANamespaceIsLookedThroughPageByPage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var pages []string
	funcs := interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, into client.ObjectList, opts ...client.ListOption) error {
		options := client.ListOptions{}
		options.ApplyOptions(opts)
		g.Expect(options.Limit).To(Equal(int64(foreignPage)))
		pages = append(pages, options.Continue)
		list, ok := into.(*metav1.PartialObjectMetadataList)
		g.Expect(ok).To(BeTrue())
		list.Items, list.Continue = []metav1.PartialObjectMetadata{{ObjectMeta: inShop("ours", ownWorks, "inside").ObjectMeta}}, fmt.Sprint(len(pages))
		if len(pages) == 3 {
			list.Items[0].Name, list.Continue = "theirs", ""
		}
		return nil
	}}
	member := fakeClient(t, funcs, inShop("theirs", ownWorks, "inside"))
	reads := 0
	hub := fakeClient(t, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
		reads++
		return c.Get(ctx, key, obj, opts...)
	}}, workWith(t, "inside", inShop("ours", "", "")))
	r := &Reconciler{memberClient: member, reader: member, namespace: ownWorks, works: newWorks(hub, nil), discovery: servedKinds{}, namespacedKinds: func(context.Context) ([]schema.GroupVersionKind, error) {
		return []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap")}, nil
	}}
	g.Expect(r.foreign(t.Context(), plan.Parse(workWith(t, "around", namespaceOf()))[0])).To(Equal([]string{"ConfigMap shop/theirs"}))
	g.Expect(pages).To(Equal([]string{"", "1", "2"}))
	g.Expect(reads).To(Equal(1), "a Work is looked at once")
}

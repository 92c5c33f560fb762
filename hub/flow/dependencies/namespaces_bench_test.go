package dependencies

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/dependencies/attach"
	"fairlead.dev/test/filled"
)

// following is the namespace reconciler of a hub with one namespace, which is in all clusters already.
func following(tb testing.TB, size filled.Fleet) *namespaces {
	tb.Helper()
	namespace := size.NamespaceOf(0)
	ns := kube.MetadataOf(namespaceKind())
	ns.Name, ns.UID = namespace, "of-the-namespace"
	own, clusters := kube.ClusterResourceBindings().New(), sets.Set[string]{}
	for i := range size.Clusters {
		clusters.Insert(filled.ClusterName(i))
	}
	attach.ToContents(own, namespaceKind(), ns, clusters, func(string) bool { return true }, "id")
	var objects []client.Object
	for i := range size.Clusters {
		objects = append(objects, size.Cluster(i))
	}
	of := make([]*workv1alpha2.ResourceBinding, size.Bindings)
	for i := range of {
		of[i] = size.Binding(i)
		objects = append(objects, of[i])
	}
	hub := filled.New(tb, cache.Options{}, append(objects, own)...)
	n := &namespaces{
		Reconciler: &Reconciler{
			hubClient: hub.Client, exclusions: selector.NewExclusions(contract.DefaultExecutionNamespacePrefix, nil, selector.SkippedKinds{}),
			wrote: kube.NewWritten[types.NamespacedName, kube.Binding](clock.RealClock{}),
		},
		reader: oneNamespace{Reader: hub.Client, ns: ns},
	}
	for _, b := range of {
		n.targets.change(namespace, nil, targetsOf(b))
	}
	return n
}

// oneNamespace serves the metadata of one namespace.
type oneNamespace struct {
	client.Reader

	ns *metav1.PartialObjectMetadata
}

// Get implements client.Reader.
func (o oneNamespace) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	out, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok || key.Name != o.ns.Name {
		return fmt.Errorf("unexpected read of %T %s", obj, key)
	}
	o.ns.DeepCopyInto(out)
	return nil
}

// unlisted serves the cache, and records lists that the reconcile of a namespace does not need.
type unlisted struct {
	client.Client

	lists []string
}

// List implements client.Reader.
func (u *unlisted) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	switch list.(type) {
	case *workv1alpha2.ResourceBindingList, *clusterv1alpha1.ClusterList:
		u.lists = append(u.lists, fmt.Sprintf("%T", list))
	}
	return u.Client.List(ctx, list, opts...)
}

// TestNamespaceReconcileListsNothing checks that the reconcile of an up-to-date namespace lists neither its bindings nor clusters.
func TestNamespaceReconcileListsNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	size := filled.Fleet{Clusters: 10, Bindings: 30, Namespaces: 1}
	n := following(t, size)
	asked := &unlisted{Client: n.hubClient}
	n.hubClient = asked
	_, err := n.Reconcile(t.Context(), size.NamespaceOf(0))
	g.Expect(err).NotTo(HaveOccurred(), "an up-to-date namespace is not written")
	g.Expect(asked.lists).To(BeEmpty())

	n.targets.change(size.NamespaceOf(0), nil, sets.New("edge-99999"))
	_, err = n.Reconcile(t.Context(), size.NamespaceOf(0))
	g.Expect(apierrors.IsServiceUnavailable(err)).To(BeTrue(), "the write for another cluster must reach the client, which refuses it: %v", err)
	b, err := n.bindingAt(t.Context(), types.NamespacedName{Name: contract.BindingName("Namespace", size.NamespaceOf(0))})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(attach.Places(b, types.NamespacedName{Namespace: size.NamespaceOf(0)})).To(HaveLen(size.Clusters))
}

// BenchmarkNamespace measures the reconcile of an up-to-date namespace, which must not depend on how many objects are in it.
func BenchmarkNamespace(b *testing.B) {
	for _, size := range []filled.Fleet{
		{Clusters: 10, Bindings: 500, Namespaces: 1},
		{Clusters: 10, Bindings: 5000, Namespaces: 1},
		{Clusters: 10, Bindings: 50000, Namespaces: 1},
		{Clusters: 5000, Bindings: 500, Namespaces: 1},
	} {
		b.Run(fmt.Sprintf("%d/%d", size.Clusters, size.Bindings), func(b *testing.B) {
			n := following(b, size)
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				if _, err := n.Reconcile(b.Context(), size.NamespaceOf(0)); err != nil {
					b.Fatal(err)
				}
			}
			cpu()
		})
	}
}

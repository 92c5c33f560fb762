package cluster

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

func TestAHubIsLentAgainAsItWas(t *testing.T) { //nolint:paralleltest // it says in the environment who lends
	g := NewWithT(t)
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "lender.sock"))
	g.Expect(err).NotTo(HaveOccurred())
	var told bytes.Buffer
	lender, served := Lender{Log: &told}, make(chan error, 1)
	go func() { served <- lender.Serve(context.WithoutCancel(t.Context()), listener) }()
	t.Setenv(LenderEnv, listener.Addr().String())
	t.Cleanup(func() {
		g.Expect(listener.Close()).To(Succeed())
		g.Expect(<-served).To(Succeed())
		g.Expect(told.String()).To(BeEmpty())
	})

	var first *Cluster
	t.Run("to who leaves something in it", func(t *testing.T) { //nolint:paralleltest // the next one finds what this one left
		g := NewWithT(t)
		first = borrowed(t)
		api := first.Client(t)
		namespace := first.Namespace(t)
		g.Expect(api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "left"}})).To(Succeed())
		for range 100 { // many, so that some would still be there if they were deleted at one revision
			g.Expect(api.Create(t.Context(), &clusterv1alpha1.Cluster{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "left-"}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull},
			})).To(Succeed())
		}
	})
	t.Run("to who finds nothing", func(t *testing.T) { //nolint:paralleltest // see above
		g := NewWithT(t)
		again := borrowed(t)
		g.Expect(again.DataDir).To(Equal(first.DataDir))
		api := again.Client(t)
		var clusters clusterv1alpha1.ClusterList
		g.Expect(api.List(t.Context(), &clusters)).To(Succeed())
		g.Expect(clusters.Items).To(BeEmpty())
		var namespaces corev1.NamespaceList
		g.Expect(api.List(t.Context(), &namespaces)).To(Succeed())
		g.Expect(namespaces.Items).To(HaveEach(HaveField("Name", Or(Equal("default"), HavePrefix("kube-")))))
	})
}

// borrowed borrows a hub until the test ends.
func borrowed(t *testing.T) *Cluster {
	t.Helper()
	c, err := borrow(t.Context(), Options{}.complete())
	if err != nil || c == nil {
		t.Fatalf("borrowing a hub: %v", err)
	}
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestAHubIsNotLentAgain(t *testing.T) {
	t.Parallel()
	before := revisions{"/registry/namespaces/default": "4", "/registry/leases/kube-system/apiserver-1": "9"}
	tests := map[string]struct {
		now  revisions
		came []string
		err  string
	}{
		"which only renewed what it renews": {now: revisions{"/registry/namespaces/default": "4", "/registry/leases/kube-system/apiserver-1": "12"}},
		"unless what came can be removed": {
			now:  revisions{"/registry/namespaces/default": "4", "/registry/namespaces/test-1": "10"},
			came: []string{"/registry/namespaces/test-1"},
		},
		"if what was there was written": {now: revisions{"/registry/namespaces/default": "10"}, err: "/registry/namespaces/default was written"},
		"if what was there is gone":     {now: revisions{}, err: "/registry/namespaces/default is gone"},
		"if a kind came": {
			now: revisions{"/registry/namespaces/default": "4", "/registry/apiextensions.k8s.io/customresourcedefinitions/a": "10"},
			err: "/registry/apiextensions.k8s.io/customresourcedefinitions/a came",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			came, err := since(before, test.now)
			g.Expect(came).To(Equal(test.came))
			if test.err == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(test.err))
			}
		})
	}
}

package cli

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/grant"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
)

// TestANameIsReleasedOnlyWhenItsClusterIsGoneOrStays has names that are kept for clusters in every state in which there can be one.
func TestANameIsReleasedOnlyWhenItsClusterIsGoneOrStays(t *testing.T) {
	t.Parallel()
	const noCluster = "none"
	joined := func(c *clusterv1alpha1.Cluster) { c.Spec.ID = "member-of-" + c.Name }
	tests := map[string]struct {
		cluster string
		edit    func(c *clusterv1alpha1.Cluster)
		deleted bool
		kept    bool
		want    string // what is said; of an error the beginning
		release bool
	}{
		"its cluster is gone":             {cluster: noCluster, kept: true, want: "The name none is free\n", release: true},
		"nobody keeps it":                 {cluster: "free", deleted: true, want: "Error: the name free is not kept for anybody"},
		"its cluster was never forgotten": {cluster: "alive", edit: joined, want: "Error: cluster alive is not forgotten"},
		"it is marked, and not deleted yet": {cluster: "marked", kept: true, edit: func(c *clusterv1alpha1.Cluster) {
			joined(c)
			c.Annotations = map[string]string{contract.RetiredAnnotation: "{}"}
		}, want: "Error: cluster marked is just being removed"},
		"it is being deleted": {cluster: "going", kept: true, deleted: true, edit: func(c *clusterv1alpha1.Cluster) {
			joined(c)
			c.Finalizers = []string{"test.fairlead.dev/held"}
		}, want: "Error: cluster going is just being removed"},
		"whoever began to forget it was stopped": {cluster: "begun", kept: true, edit: joined, want: "Cluster begun stays, and its agent has its rights again", release: true},
		"it was made for the next member":        {cluster: "next", kept: true, want: "The name next is free\n", release: true},
	}
	hub := cluster.Shared(t, cluster.Options{})
	hubClient := hub.Client(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}}
	NewWithT(t).Expect(client.IgnoreAlreadyExists(hubClient.Create(t.Context(), namespace))).To(Succeed())
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, ctx := NewWithT(t), t.Context()
			c := builder.MakeCluster(test.cluster).Obj()
			retirement := grant.Retired(c, "2026-01-02T03:04:05Z", "ann")
			if test.edit != nil {
				test.edit(c)
			}
			if test.cluster != noCluster {
				g.Expect(hubClient.Create(ctx, c)).To(Succeed())
			}
			if test.deleted {
				g.Expect(hubClient.Delete(ctx, c)).To(Succeed())
			}
			if test.kept {
				g.Expect(hubClient.Create(ctx, retirement.Record)).To(Succeed())
			}
			e := &execution{}
			status := e.run(ctx, "forget", test.cluster, "--release", "--kubeconfig", hub.Kubeconfig)
			g.Expect(e.out.String() + e.lastLine()).To(HavePrefix(test.want))
			g.Expect(status == 0).To(Equal(test.release))
			err := hubClient.Get(ctx, client.ObjectKeyFromObject(retirement.Record), retirement.Record)
			if test.kept && !test.release {
				g.Expect(err).NotTo(HaveOccurred(), "the name is kept still")
			} else {
				g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
			}
			if test.deleted && test.edit != nil {
				c.Finalizers = nil
				g.Expect(hubClient.Update(ctx, c)).To(Succeed())
			}
		})
	}
}

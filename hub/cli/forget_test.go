package cli

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/grant"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
)

// keptCluster creates a Cluster that is held by a finalizer and whose name is reserved.
func keptCluster(ctx context.Context, g *WithT, hubClient client.Client, name string) *clusterv1alpha1.Cluster {
	c := builder.MakeCluster(name).Obj()
	c.Finalizers = []string{contract.ClusterFinalizer}
	g.Expect(hubClient.Create(ctx, c)).To(Succeed())
	g.Expect(client.IgnoreAlreadyExists(hubClient.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}}))).To(Succeed())
	g.Expect(hubClient.Create(ctx, grant.Retired(c, "2026-01-02T03:04:05Z", "ann").Record)).To(Succeed())
	return c
}

// looking is a client that calls before ahead of each read of a Cluster.
type looking struct {
	client.Client

	before func()
}

// Get implements client.Client.
func (l looking) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*clusterv1alpha1.Cluster); ok {
		l.before()
	}
	return l.Client.Get(ctx, key, obj, opts...)
}

// TestANameIsReleasedOnceItsClusterIsGone uses Clusters held by a finalizer, as the hub does until their Works are
// gone.
func TestANameIsReleasedOnceItsClusterIsGone(t *testing.T) {
	t.Parallel()
	hub := cluster.Shared(t, cluster.Options{})
	hubClient := hub.Client(t)
	kept := func(name string) bool {
		err := hubClient.Get(t.Context(), client.ObjectKeyFromObject(grant.RetiredOf(name).Record), &corev1.ConfigMap{})
		NewWithT(t).Expect(client.IgnoreNotFound(err)).To(Succeed())
		return err == nil
	}
	for name, begin := range map[string]func(context.Context, *clusterv1alpha1.Cluster) error{
		"deleted": func(ctx context.Context, c *clusterv1alpha1.Cluster) error { return hubClient.Delete(ctx, c) },
		"marked": func(ctx context.Context, c *clusterv1alpha1.Cluster) error {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, contract.RetiredAnnotation, "{}")
			return hubClient.Update(ctx, c)
		},
		"asked": func(ctx context.Context, c *clusterv1alpha1.Cluster) error {
			meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterLeaveRequested, Status: metav1.ConditionTrue, Reason: "x"})
			return hubClient.Status().Update(ctx, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			name := "released-" + name
			c := keptCluster(t.Context(), g, hubClient, name)
			g.Expect(begin(t.Context(), c)).To(Succeed())

			late := &execution{}
			g.Expect(late.run(t.Context(), "forget", name, "--release", "--timeout", "1ms", "--kubeconfig", hub.Kubeconfig)).To(Equal(ExitFailed))
			g.Expect(late.lastLine()).To(HavePrefix("Error: cluster " + name + " is still being removed after 1ms, so its name is not given up"))
			g.Expect(kept(name)).To(BeTrue())

			e, ended := &execution{}, make(chan int, 1)
			go func() {
				ended <- e.run(t.Context(), "forget", name, "--release", "--timeout", waitTimeout.String(), "--kubeconfig", hub.Kubeconfig)
			}()
			g.Eventually(e.err.String).WithTimeout(waitTimeout).Should(ContainSubstring("Cluster "+name+" is being removed; waiting"), e.out.String)
			g.Expect(kept(name)).To(BeTrue())
			g.Expect(ended).NotTo(Receive())

			g.Expect(hubClient.Get(t.Context(), client.ObjectKeyFromObject(c), c)).To(Succeed())
			c.Finalizers = nil
			g.Expect(hubClient.Update(t.Context(), c)).To(Succeed())
			g.Expect(client.IgnoreNotFound(hubClient.Delete(t.Context(), c))).To(Succeed()) // as the hub would
			g.Eventually(ended).WithTimeout(waitTimeout).Should(Receive(Equal(ExitDone)), e.err.String)
			g.Expect(e.out.String()).To(Equal("The name " + name + " is free\n"))
			g.Expect(kept(name)).To(BeFalse())
			g.Expect(apierrors.IsNotFound(hubClient.Get(t.Context(), client.ObjectKeyFromObject(c), c))).To(BeTrue())
		})
	}
	t.Run("joined again", func(t *testing.T) { // between two polls of the command
		t.Parallel()
		g := NewWithT(t)
		c := keptCluster(t.Context(), g, hubClient, "released-rejoined")
		g.Expect(hubClient.Delete(t.Context(), c)).To(Succeed())
		looks, e := 0, &execution{}
		rejoins := looking{Client: hubClient, before: func() {
			if looks++; looks != 2 {
				return
			}
			g.Expect(hubClient.Get(t.Context(), client.ObjectKeyFromObject(c), c)).To(Succeed())
			c.Finalizers = nil
			g.Expect(hubClient.Update(t.Context(), c)).To(Succeed())
			again := builder.MakeCluster(c.Name).Obj()
			again.Spec.ID = "member-again"
			g.Expect(hubClient.Create(t.Context(), again)).To(Succeed())
		}}
		g.Expect((&forgetFlags{timeout: waitTimeout}).releaseName(t.Context(), Environment{Out: &e.out, Err: &e.err, Clock: clock.RealClock{}}, rejoins, c.Name)).To(Succeed())
		g.Expect(e.out.String()).To(Equal(
			"The name " + c.Name + " is no longer reserved, but not free: cluster " + c.Name + ", of member member-again, has joined under it meanwhile\n"))
		g.Expect(kept(c.Name)).To(BeFalse())
	})
	t.Run("kept", func(t *testing.T) { // reserved by a forget that was interrupted
		t.Parallel()
		g := NewWithT(t)
		c := keptCluster(t.Context(), g, hubClient, "released-kept")
		e := &execution{}
		g.Expect(e.run(t.Context(), "forget", c.Name, "--release", "--kubeconfig", hub.Kubeconfig)).To(Equal(ExitDone), e.err.String())
		g.Expect(e.out.String()).To(Equal("The name " + c.Name + " is no longer reserved, but not free: cluster " + c.Name + ", of member nobody, has it and stays\n"))
		g.Expect(kept(c.Name)).To(BeFalse())
		g.Expect(hubClient.Get(t.Context(), client.ObjectKeyFromObject(c), c)).To(Succeed(), "the cluster stays")
		g.Expect(e.run(t.Context(), "forget", c.Name, "--release", "--kubeconfig", hub.Kubeconfig)).To(Equal(ExitFailed))
		g.Expect(e.lastLine()).To(Equal("Error: the name " + c.Name + " is not reserved"))
	})
}

package cluster

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/fleet/cluster/health"
	"fairlead.dev/test/builder"
)

// TestTaintsAreToldThoughTheStatusConflicts checks that people are told of taints that were written although the status
// write then conflicted with the agent's: the retry finds the taints already set.
func TestTaintsAreToldThoughTheStatusConflicts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	c := builder.MakeCluster("edge-1").Obj()
	hub := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).WithStatusSubresource(c).Build(), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return apierrors.NewConflict(schema.GroupResource{Resource: "clusters"}, "edge-1", nil)
		},
	})
	var told []string
	now := time.Unix(1000, 0)
	r, err := New(hub, hub, Deps{
		ExecutionNamespacePrefix: "karmada-es-", Clock: testclock.NewFakeClock(now),
		Events: func(e eventsink.Event) { told = append(told, e.Reason) },
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(c), c)).To(Succeed())
	silent := metav1.Condition{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionUnknown, Reason: "Silent", Message: "It is silent.", LastTransitionTime: metav1.NewTime(now)}
	err = r.record(t.Context(), c, health.Decision{Ready: &silent})
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	g.Expect(told).To(ContainElement(reasonTaintSucceeded))
	g.Expect(told).NotTo(ContainElement(reasonTaintFailed))
	g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(c), c)).To(Succeed())
	g.Expect(c.Spec.Taints).NotTo(BeEmpty())
}

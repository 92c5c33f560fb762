package clusterstatus

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/agent/clusterstatus/pods"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/kube"
)

// TestAMemberIsProbedWhileItsClusterIsRemoved checks that probes and watches of the member continue during a removal,
// which may take long.
func TestAMemberIsProbedWhileItsClusterIsRemoved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var well atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	m, err := newMember(&rest.Config{Host: server.URL}, server.Client())
	g.Expect(err).NotTo(HaveOccurred())
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge"}}
	cluster.DeletionTimestamp, cluster.Finalizers = &metav1.Time{Time: time.Unix(1_700_000_000, 0)}, []string{"example.com/stays"}
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	w := newWorkload(nil, pods.New(clock.RealClock{}), clock.RealClock{})
	began := time.Unix(1_700_000_000, 0)
	w.podsUnread.since = began
	var told []metav1.ConditionStatus
	r := &Reconciler{
		hubClient: fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster).Build(), member: m, workload: w, frequency: time.Minute,
		held:   func() (metav1.Condition, bool) { return metav1.Condition{}, false },
		probed: func(ready metav1.Condition) { told = append(told, ready.Status) },
	}
	for _, ready := range []bool{true, false} {
		well.Store(ready)
		g.Expect(w.podsUnread.since).To(Equal(began))
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(cluster)})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.RequeueAfter).To(Equal(time.Minute))
	}
	g.Expect(told).To(Equal([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse}))
	g.Expect(w.podsUnread.since).To(BeTemporally(">", began), "what fails meanwhile says nothing of pods")
}

package hostile

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// The lists of a person: a megabyte each, so many at a time that the API always serves some.
const (
	listedObjects = 100
	listedSize    = 10_000
	listedAtOnce  = 60
)

// person returns a user who reads and writes in a namespace, in the API's priority level of all unclassified users:
// unlike a ServiceAccount, and like an agent without its own level.
func (w *world) person(t *testing.T, name, ns string) *intruder {
	t.Helper()
	g := NewWithT(t)
	g.Expect(w.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})).To(Succeed())
	config := rest.CopyConfig(w.api.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	out := newIntruder(t, config)
	eventually(t, func(g Gomega) {
		g.Expect(out.do(t, http.MethodGet, "/api/v1/namespaces/"+ns+"/configmaps?limit=1", "", nil)).To(Equal(http.StatusOK))
	})
	return out
}

// flood is a loop of lists.
type flood struct{ answered atomic.Int64 }

// flood makes a user list in a loop until the test ends or stop is called.
func (i *intruder) flood(t *testing.T, path string) (f *flood, stop func()) {
	t.Helper()
	f = &flood{}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range listedAtOnce {
		all.Go(func() {
			for ctx.Err() == nil {
				if i.list(ctx, path) == nil {
					f.answered.Add(1)
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	t.Cleanup(stop)
	return f, stop
}

// list reads a list to its end.
func (i *intruder) list(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.config.Host+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	response, err := i.http.Do(request)
	if err != nil {
		return fmt.Errorf("asking the hub: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// level returns the priority level with which the API serves a user.
func (w *world) level(t *testing.T, i *intruder, method, path, body string) string {
	t.Helper()
	g := NewWithT(t)
	request, err := http.NewRequestWithContext(t.Context(), method, i.config.Host+path, strings.NewReader(body))
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/merge-patch+json")
	response, err := i.http.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
	g.Expect(response.StatusCode).To(Equal(http.StatusOK), path)
	var levels flowcontrolv1.PriorityLevelConfigurationList
	scheme := runtime.NewScheme()
	g.Expect(flowcontrolv1.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(w.api.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.List(t.Context(), &levels)).To(Succeed())
	for _, level := range levels.Items {
		if string(level.UID) == response.Header.Get("X-Kubernetes-Pf-Prioritylevel-Uid") {
			return level.Name
		}
	}
	t.Fatalf("%s %s was answered by no level of requests: %v", method, path, response.Header)
	return ""
}

// TestATenantWhoListsWithoutEndHoldsUpNoAgent checks manifests/install/tenants.md: agents have their own priority
// levels, so while a person lists in a loop, their heartbeats and statuses still reach the hub.
func TestATenantWhoListsWithoutEndHoldsUpNoAgent(t *testing.T) {
	w := hub(t)
	g := NewWithT(t)
	m := w.member(t, "flooded")
	ns := w.api.Namespace(t)
	for i := range listedObjects {
		g.Expect(w.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("listed-%d", i)}, Data: map[string]string{"k": repeat("x", listedSize)},
		})).To(Succeed())
	}
	greedy := w.person(t, "greedy", ns)
	lists := "/api/v1/namespaces/" + ns + "/configmaps"
	lease := "/apis/coordination.k8s.io/v1/namespaces/" + contract.ClusterNamespace + "/leases/" + m.name
	renewed := func() string {
		return fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	level := w.level(t, greedy, http.MethodGet, lists+"?limit=1", "")
	for what, of := range map[string]string{
		"that it lives":      w.level(t, m.intruder, http.MethodPatch, lease, renewed()),
		"how its member is":  w.level(t, m.intruder, http.MethodPatch, m.clusterPath()+"/status", `{"status":{"kubernetesVersion":"v1.36.3"}}`),
		"what it is to have": w.level(t, m.intruder, http.MethodGet, worksOf(m.name), ""),
	} {
		g.Expect(of).To(HavePrefix("fairlead-"), what)
		g.Expect(of).NotTo(Equal(level), what)
	}
	ready := func() metav1.Condition {
		return *meta.FindStatusCondition(w.cluster(t, m.name).Status.Conditions, clusterv1alpha1.ClusterReady)
	}
	before := ready()

	flood, stop := greedy.flood(t, lists)
	eventually(t, func(g Gomega) { g.Expect(flood.answered.Load()).To(BeNumerically(">", listedAtOnce)) })
	for range 5 {
		began := flood.answered.Load()
		eventually(t, func(g Gomega) {
			code, err := m.send(t.Context(), http.MethodPatch, lease, renewed(), row{method: http.MethodPatch}.header())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(code).To(Equal(http.StatusOK))
			g.Expect(flood.answered.Load()).To(BeNumerically(">", began), "it goes on all the time")
		})
	}
	g.Expect(ready()).To(Equal(before))
	tells := func(status metav1.ConditionStatus) {
		said := strings.Replace(clusterReport(`{"cpu":"8","memory":"16Gi","pods":"110"}`), `"type":"Ready","status":"True"`, `"type":"Ready","status":"`+string(status)+`"`, 1)
		header := map[string]string{"Content-Type": "application/merge-patch+json"}
		eventually(t, func(g Gomega) {
			code, err := m.send(t.Context(), http.MethodPatch, m.clusterPath()+"/status", said, header)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(code).To(Equal(http.StatusOK))
		})
	}
	tells(metav1.ConditionFalse)
	eventually(t, func(g Gomega) {
		g.Expect(w.cluster(t, m.name).Spec.Taints).NotTo(BeEmpty(), "the hub hears how the member is")
	})
	tells(metav1.ConditionTrue)
	eventually(t, func(g Gomega) { g.Expect(w.cluster(t, m.name).Spec.Taints).To(BeEmpty()) })
	g.Expect(ready().Status).To(Equal(metav1.ConditionTrue))
	stop()
	t.Logf("%d lists were answered meanwhile", flood.answered.Load())
}

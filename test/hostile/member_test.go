package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// member is a cluster of which only the agent's certificate exists, with which a test reports arbitrary statuses.
type member struct {
	*intruder
	w    *world
	name string
}

// renewal is the interval of a member's heartbeats.
const renewal = 2 * time.Second

// member joins a cluster that is Ready, serves the kinds used in the tests, and sends heartbeats until the test ends.
func (w *world) member(t *testing.T, name string) *member {
	t.Helper()
	m := &member{intruder: newIntruder(t, w.join(t, name, "member-of-"+name)), w: w, name: name}
	m.reports(t, m.clusterPath()+"/status", clusterReport(`{"cpu":"8","memory":"16Gi","pods":"110"}`))
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-stopped })
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(renewal):
				m.renew()
			}
		}
	}()
	m.renew()
	eventually(t, func(g Gomega) {
		c := w.cluster(t, name)
		g.Expect(meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterReady)).To(BeTrue())
		g.Expect(c.Spec.Taints).To(BeEmpty())
	})
	return m
}

// clusterReport returns an honest agent's status of a cluster with some capacity for pods. It keeps the hub's
// conditions.
func clusterReport(allocatable string, kept ...metav1.Condition) string {
	condition := `{"type":%q,"status":"True","reason":"Reported","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}`
	conditions := []string{fmt.Sprintf(condition, "Ready"), fmt.Sprintf(condition, "CompleteAPIEnablements")}
	for _, c := range kept {
		encoded, err := json.Marshal(c)
		if err != nil {
			panic(err) // it has been decoded
		}
		conditions = append(conditions, string(encoded))
	}
	return `{"status":{"kubernetesVersion":"v1.36.3","apiEnablements":[
		{"groupVersion":"v1","resources":[{"name":"configmaps","kind":"ConfigMap"},{"name":"secrets","kind":"Secret"},{"name":"namespaces","kind":"Namespace"}]},
		{"groupVersion":"apps/v1","resources":[{"name":"deployments","kind":"Deployment"}]}],
		"conditions":[` + strings.Join(conditions, ",") + `],
		"resourceSummary":{"allocatable":` + allocatable + `,"allocated":{},"allocating":{},"allocatableModelings":null}}}`
}

func (m *member) clusterPath() string { return "/apis/cluster.karmada.io/v1alpha1/clusters/" + m.name }

// renew sends a heartbeat. It does not run in the test's goroutine, and does not wait long, because the next one follows.
func (m *member) renew() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	body := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"))
	_, _ = m.send(ctx, http.MethodPatch, "/apis/coordination.k8s.io/v1/namespaces/karmada-cluster/leases/"+m.name, body, row{method: http.MethodPatch}.header()) // the next one will
}

// reportsCapacity writes the status of its Cluster, and keeps the hub's fields.
func (m *member) reportsCapacity(t *testing.T, allocatable string) {
	t.Helper()
	eventually(t, func(g Gomega) {
		ofTheHub := slices.DeleteFunc(m.w.cluster(t, m.name).Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == clusterv1alpha1.ClusterReady || c.Type == clusterv1alpha1.ClusterCompleteAPIEnablements
		})
		g.Expect(m.tells(t, m.clusterPath()+"/status", clusterReport(allocatable, ofTheHub...))).To(Equal(http.StatusOK))
	})
}

// reports writes a status, which the hub's API must accept.
func (m *member) reports(t *testing.T, path, body string) {
	t.Helper()
	eventually(t, func(g Gomega) { g.Expect(m.tells(t, path, body)).To(Equal(http.StatusOK)) })
}

// tells writes a status, {"status":…}, which the hub's API may reject. It replaces the previous one, because a merge
// patch of a deeply nested status takes an API server seconds.
func (m *member) tells(t *testing.T, path, body string) int {
	t.Helper()
	m.attempts++
	value := strings.TrimSuffix(strings.TrimPrefix(body, `{"status":`), "}")
	return m.do(t, http.MethodPatch, path, `[{"op":"add","path":"/status","value":`+value+`}]`, map[string]string{"Content-Type": "application/json-patch+json"})
}

// workOf waits for the Work of a binding for a member.
func (m *member) workOf(t *testing.T, namespace, binding string) *workv1alpha1.Work {
	t.Helper()
	var out *workv1alpha1.Work
	eventually(t, func(g Gomega) {
		out = m.findWork(t, g, namespace, binding)
		g.Expect(out).NotTo(BeNil(), "no Work is of %s/%s", namespace, binding)
	})
	return out
}

// findWork returns the Work of a binding; nil if there is none.
func (m *member) findWork(t *testing.T, g Gomega, namespace, binding string) *workv1alpha1.Work {
	t.Helper()
	var works workv1alpha1.WorkList
	g.Expect(m.w.List(t.Context(), &works, client.InNamespace("karmada-es-"+m.name))).To(Succeed())
	for i := range works.Items {
		a := works.Items[i].Annotations
		if a[contract.ResourceBindingNamespaceAnnotation] == namespace && a[contract.ResourceBindingNameAnnotation] == binding {
			return &works.Items[i]
		}
	}
	return nil
}

// deploymentReport returns an agent's report of a Deployment with any JSON as its status.
func deploymentReport(namespace, name, status string) string {
	id := fmt.Sprintf(`{"ordinal":0,"group":"apps","version":"v1","kind":"Deployment","resource":"deployments","namespace":%q,"name":%q}`, namespace, name)
	return manifestReport(`{"identifier":` + id + `,"health":"Healthy","status":` + status + `}`)
}

// manifestReport returns an agent's status of an applied Work.
func manifestReport(statuses string) string {
	return `{"status":{"conditions":[{"type":"Applied","status":"True","reason":"AppliedSuccessful","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}],
		"manifestStatuses":[` + statuses + `]}}`
}

// readyStatus is an honest status of a Deployment.
func readyStatus(replicas int) string {
	out, err := json.Marshal(map[string]int{
		"replicas": replicas, "readyReplicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas,
		"observedGeneration": 1, "generation": 1, "resourceTemplateGeneration": 1,
	})
	if err != nil {
		panic(err) // numbers can always be encoded
	}
	return string(out)
}

package integration

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// TestHealthOfWhatControllersReport checks the health rules with statuses of real controllers: the tests beside the
// rules only have statuses that somebody made up.
func TestHealthOfWhatControllersReport(t *testing.T) {
	t.Parallel()
	const (
		healthy, unhealthy = workv1alpha1.Healthy, workv1alpha1.Unhealthy
		pod                = `{"containers":[{"name":"c","image":"a"}]}`
		nowhere            = `{"restartPolicy":"Never","nodeSelector":{"no":"where"},"containers":[{"name":"c","image":"a"}]}`
		template           = `"template":{"metadata":{"labels":{"app":"x"}},"spec":` + pod + `}`
		selected           = `"selector":{"matchLabels":{"app":"x"}},` + template
		newImage           = `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"b"}]}}}}`
	)
	tests := map[string]struct {
		object string
		// sign appears in the status once it is meaningful.
		sign string
		want workv1alpha1.ResourceHealth
		// change is a patch after whose effect the health is the same, once the status shows changed.
		change, changed string
	}{
		"Deployment":                {object: `{"apiVersion":"apps/v1","kind":"Deployment","spec":{` + selected + `}}`, want: healthy, change: newImage, changed: `"observedGeneration":2`},
		"Deployment with no nodes":  {object: `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"selector":{"matchLabels":{"app":"y"}},"template":{"metadata":{"labels":{"app":"y"}},"spec":{"nodeSelector":{"no":"where"},"containers":[{"name":"c","image":"a"}]}}}}`, sign: `"unavailableReplicas":1`, want: unhealthy},
		"ReplicaSet":                {object: `{"apiVersion":"apps/v1","kind":"ReplicaSet","spec":{` + selected + `}}`, want: healthy},
		"ReplicationController":     {object: `{"apiVersion":"v1","kind":"ReplicationController","spec":{` + template + `}}`, want: healthy},
		"StatefulSet":               {object: `{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"serviceName":"x",` + selected + `}}`, want: healthy, change: newImage, changed: `"observedGeneration":2`},
		"StatefulSet held back":     {object: `{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"serviceName":"x","replicas":2,"podManagementPolicy":"Parallel","updateStrategy":{"rollingUpdate":{"partition":1}},` + selected + `}}`, want: healthy, change: newImage, changed: `"updatedReplicas":1`},
		"DaemonSet":                 {object: `{"apiVersion":"apps/v1","kind":"DaemonSet","spec":{` + selected + `}}`, sign: `"numberAvailable":1`, want: healthy},
		"DaemonSet of old pods":     {object: `{"apiVersion":"apps/v1","kind":"DaemonSet","spec":{"updateStrategy":{"type":"OnDelete"},` + selected + `}}`, sign: `"numberAvailable":1`, want: healthy, change: newImage, changed: `"observedGeneration":2`},
		"Job at work":               {object: `{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{"spec":` + nowhere + `}}}`, sign: `"active":1`, want: healthy},
		"Job that is suspended":     {object: `{"apiVersion":"batch/v1","kind":"Job","spec":{"suspend":true,"template":{"spec":` + nowhere + `}}}`, sign: `"Suspended"`, want: healthy},
		"Job that takes too long":   {object: `{"apiVersion":"batch/v1","kind":"Job","spec":{"activeDeadlineSeconds":1,"template":{"spec":` + nowhere + `}}}`, sign: `"DeadlineExceeded"`, want: unhealthy},
		"CronJob":                   {object: `{"apiVersion":"batch/v1","kind":"CronJob","spec":{"schedule":"0 0 1 1 *","jobTemplate":{"spec":{"template":{"spec":` + nowhere + `}}}}}`, want: healthy},
		"Pod":                       {object: `{"apiVersion":"v1","kind":"Pod","spec":` + pod + `}`, want: healthy},
		"Service":                   {object: `{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":80}]}}`, want: healthy},
		"PodDisruptionBudget":       {object: `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","spec":{"minAvailable":0,"selector":{"matchLabels":{"app":"none"}}}}`, sign: `"observedGeneration":1`, want: healthy},
		"autoscaler without target": {object: `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"none"}}}`, sign: `"AbleToScale"`, want: unhealthy},
		"PersistentVolume":          {object: `{"apiVersion":"v1","kind":"PersistentVolume","spec":{"storageClassName":"none","capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/data"}}}`, want: healthy},
		"claim without a volume":    {object: `{"apiVersion":"v1","kind":"PersistentVolumeClaim","spec":{"storageClassName":"","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"9Ti"}}}}`, sign: `"Pending"`, want: unhealthy},
		"Namespace":                 {object: `{"apiVersion":"v1","kind":"Namespace"}`, sign: `"Active"`, want: healthy},
		"CustomResourceDefinition": {
			object: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"mills.kinds.example.com"},"spec":{"group":"kinds.example.com","scope":"Namespaced",
				"names":{"plural":"mills","kind":"Mill"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`,
			want: healthy,
		},
		"ConfigMap":     {object: `{"apiVersion":"v1","kind":"ConfigMap"}`, want: healthy},
		"NetworkPolicy": {object: `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","spec":{"podSelector":{}}}`, want: healthy},
	}
	member := cluster.Shared(t, oneNode())
	memberClient := member.Client(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			obj := &unstructured.Unstructured{}
			g.Expect(obj.UnmarshalJSON([]byte(tt.object))).To(Succeed())
			if obj.GetName() == "" {
				obj.SetGenerateName("kinds-")
			}
			if namespaced, err := memberClient.IsObjectNamespaced(obj); err != nil {
				t.Fatal(err)
			} else if namespaced {
				obj.SetNamespace(member.Namespace(t)) // other tests' controllers would share its pods
			}
			g.Expect(memberClient.Create(t.Context(), obj)).To(Succeed())
			t.Cleanup(func() { g.Expect(client.IgnoreNotFound(memberClient.Delete(context.Background(), obj))).To(Succeed()) })
			fares := func(sign string) {
				g.Eventually(func(g Gomega) {
					g.Expect(memberClient.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(Succeed())
					status, err := json.Marshal(obj.Object["status"])
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(string(status)).To(ContainSubstring(sign))
					g.Expect(health(t.Context(), g, obj)).To(Equal(tt.want), "%s", status)
				}).WithTimeout(time.Minute).WithPolling(50 * time.Millisecond).Should(Succeed())
			}
			fares(tt.sign)
			if tt.change != "" {
				g.Expect(memberClient.Patch(t.Context(), obj, client.RawPatch(types.StrategicMergePatchType, []byte(tt.change)))).To(Succeed())
				fares(tt.changed)
			}
		})
	}
}

// health returns the health that an agent would report.
func health(ctx context.Context, g Gomega, live *unstructured.Unstructured) workv1alpha1.ResourceHealth {
	kinds := native.New()
	if !kinds.Has(live.GroupVersionKind(), interpreter.InterpretHealth) {
		return interpreter.ConventionalHealth(live)
	}
	out, err := kinds.Health(ctx, live)
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

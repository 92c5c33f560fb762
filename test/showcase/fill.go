package showcase

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/record"
	"fairlead.dev/test/builder"
)

// MakeCluster returns a Cluster that reports: ready is the status of its condition Ready, or empty if it has never
// reported.
func MakeCluster(name, ready, region string, used int64) *clusterv1alpha1.Cluster {
	c := builder.MakeCluster(name).Region(region, region+"-a").Provider("on-site").Label("tier", "edge").Obj()
	now := time.Now()
	ago := now.Add(-240 * time.Hour)
	joined, err := record.Write(record.Joined{At: ago, Token: "abcdef", TokenBy: "alice"})
	certificate, err2 := record.Write(record.Certificate{Serial: "4f2a", From: ago, Expires: now.Add(2200 * time.Hour)})
	if err := errors.Join(err, err2); err != nil {
		panic(err) // always encodable
	}
	c.Annotations = map[string]string{contract.ExecutionNamespaceAnnotation: contract.DefaultExecutionNamespacePrefix + name}
	if ready == "" {
		return c
	}
	c.Spec.ID = "11111111-2222-3333-4444-" + fmt.Sprintf("%012d", len(name)*7919+int(used))
	c.Annotations[contract.JoinedAnnotation], c.Annotations[contract.CertificateAnnotation] = joined, certificate
	reason, message := map[string]string{"True": clusterv1alpha1.ReasonClusterReady, "False": clusterv1alpha1.ReasonClusterNotReady, "Unknown": clusterv1alpha1.ReasonClusterStatusUnknown}[ready],
		map[string]string{"True": "The API of the cluster answers that it is ready.", "False": "The API of the cluster answers that it is not ready: etcd is slow.", "Unknown": "The agent was not heard from for 40s; look whether it runs and can reach the hub."}[ready]
	quantities := func(cpu, memory, pods int64) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewMilliQuantity(cpu*1000, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(memory<<30, resource.BinarySI),
			corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI),
		}
	}
	const total = 48
	c.Status = clusterv1alpha1.ClusterStatus{
		KubernetesVersion: "v1.36.3",
		NodeSummary:       &clusterv1alpha1.NodeSummary{TotalNum: 3, ReadyNum: 3},
		ResourceSummary: &clusterv1alpha1.ResourceSummary{
			Allocatable: quantities(total, 4*total, 330), Allocated: quantities(used, 4*used*2/3, 6*used), Allocating: quantities(used/12, used/12, 0),
		},
		Conditions: []metav1.Condition{
			{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionStatus(ready), Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-47 * time.Minute))},
			{Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: "True", Reason: clusterv1alpha1.ReasonAPIEnablementsComplete, Message: "Every API of the member is listed.", LastTransitionTime: metav1.NewTime(now.Add(-240 * time.Hour))},
		},
	}
	return c
}

// Where is the health of an application in a cluster: Healthy, Unhealthy, empty if the cluster has not reported, or
// else the cluster's error message.
type Where struct{ Cluster, How string }

// MakeBinding returns the binding of a Deployment selected by a policy.
func MakeBinding(namespace, name, policy string, places ...Where) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: contract.BindingName("Deployment", name),
			Labels:      map[string]string{contract.PropagationPolicyPermanentIDLabel: "id-" + policy},
			Annotations: map[string]string{contract.PropagationPolicyNamespaceAnnotation: namespace, contract.PropagationPolicyNameAnnotation: policy},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name}, Replicas: int32(2 * len(places)),
		},
	}
	scheduled := metav1.Condition{
		Type: workv1alpha2.BindingScheduled, Status: metav1.ConditionTrue, Reason: workv1alpha2.ReasonScheduledSuccess,
		Message: "Every cluster is chosen.", LastTransitionTime: metav1.Now(),
	}
	if len(places) == 0 {
		scheduled.Status, scheduled.Reason = metav1.ConditionFalse, workv1alpha2.ReasonNoClusterFit
		scheduled.Message = "0/6 clusters are available: 5 do not match the cluster affinity, 1 has an untolerated taint."
	}
	b.Status.Conditions = []metav1.Condition{scheduled}
	for _, p := range places {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: p.Cluster, Replicas: 2})
		item := workv1alpha2.AggregatedStatusItem{ClusterName: p.Cluster}
		switch p.How {
		case "":
			continue
		case string(workv1alpha1.Healthy), string(workv1alpha1.Unhealthy):
			item.Applied, item.Health = true, workv1alpha1.ResourceHealth(p.How)
		default:
			item.AppliedMessage, item.Health = p.How, workv1alpha1.Unknown
		}
		b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, item)
	}
	return b
}

// Put creates an object with its status, or updates the existing one.
func Put(tb testing.TB, c client.Client, obj client.Object) {
	tb.Helper()
	status, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		tb.Fatalf("%T is no object of a client", obj)
	}
	err := create(tb.Context(), c, obj)
	if apierrors.IsAlreadyExists(err) {
		have, _ := obj.DeepCopyObject().(client.Object)
		check(tb, c.Get(tb.Context(), client.ObjectKeyFromObject(obj), have))
		obj.SetResourceVersion(have.GetResourceVersion())
		err = c.Update(tb.Context(), obj)
	}
	check(tb, err)
	status.SetResourceVersion(obj.GetResourceVersion())
	if err := c.Status().Update(tb.Context(), status); !apierrors.IsNotFound(err) {
		check(tb, err)
	}
}

// Timeouts for a new API server to serve everything that was installed.
const (
	settlePoll    = 200 * time.Millisecond
	settleTimeout = time.Minute
)

// create creates an object, and retries: for a moment the API server cannot apply the defaults of a new kind yet, and
// says so.
func create(ctx context.Context, c client.Client, obj client.Object) error {
	return wait.PollUntilContextTimeout(ctx, settlePoll, settleTimeout, true, func(ctx context.Context) (bool, error) {
		err := c.Create(ctx, obj)
		if apierrors.IsServiceUnavailable(err) || meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// fill creates an example of everything on a hub.
func fill(tb testing.TB, c client.Client) {
	tb.Helper()
	ok, ill := string(workv1alpha1.Healthy), string(workv1alpha1.Unhealthy)
	clusters := []*clusterv1alpha1.Cluster{
		MakeCluster("bremen", "True", "north", 12), MakeCluster("hamburg", "True", "north", 40), MakeCluster("kiel", "Unknown", "north", 21),
		MakeCluster("lyon", "True", "south", 28), MakeCluster("porto", "False", "south", 45), MakeCluster("rotterdam", "True", "west", 6),
		MakeCluster("ship-17", "", "sea", 0),
	}
	clusters[5].Spec.Taints = []corev1.Taint{{Key: contract.TaintClusterUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
	clusters[3].Status.UnclaimedObjects = 2
	for _, obj := range clusters {
		Put(tb, c, obj)
		check(tb, c.Create(tb.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.DefaultExecutionNamespacePrefix + obj.Name}}))
		if obj.Name == "ship-17" {
			continue
		}
		beat := metav1.NewMicroTime(time.Now())
		if obj.Name == "kiel" {
			beat = metav1.NewMicroTime(time.Now().Add(-48 * time.Minute))
		}
		check(tb, c.Create(tb.Context(), &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: obj.Name}, Spec: coordinationv1.LeaseSpec{RenewTime: &beat},
		}))
	}
	const refusal = `Deployment.apps "checkout" is invalid: spec.template.spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive`
	for _, ns := range []string{"shop", "lab"} {
		check(tb, c.Create(tb.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	}
	for _, p := range []*builder.Policy{
		builder.MakePolicy("shop", "everywhere").Select("apps/v1", "Deployment", "web"), builder.MakePolicy("shop", "pay").Select("apps/v1", "Deployment", "checkout"),
		builder.MakePolicy("lab", "trials").Select("apps/v1", "Deployment", "probe"), builder.MakePolicy("lab", "forgotten").Select("apps/v1", "Deployment", "no-such-thing"),
	} {
		check(tb, create(tb.Context(), c, p.Obj()))
	}
	for _, b := range []*workv1alpha2.ResourceBinding{
		MakeBinding("shop", "web", "everywhere", Where{"bremen", ok}, Where{"hamburg", ok}, Where{"kiel", ok}, Where{"lyon", ok}, Where{"rotterdam", ok}),
		MakeBinding("shop", "checkout", "pay", Where{"hamburg", ok}, Where{"lyon", refusal}, Where{"porto", refusal}),
		MakeBinding("shop", "cart", "pay", Where{"bremen", ok}, Where{"lyon", ok}),
		MakeBinding("shop", "search", "pay", Where{"bremen", ok}, Where{"porto", ill}),
		MakeBinding("lab", "probe", "trials", Where{"rotterdam", ""}),
		MakeBinding("lab", "simulation", "trials"),
	} {
		Put(tb, c, b)
	}
	fillWorks(tb, c)
	fillRollout(tb, c)
}

// fillWorks creates the template of the web shop and the Works of two clusters for it.
func fillWorks(tb testing.TB, c client.Client) {
	tb.Helper()
	check(tb, c.Create(tb.Context(), builder.MakeDeployment("shop", "web").Replicas(10).Label("app", "web").Obj()))
	for i, name := range []string{"bremen", "hamburg"} {
		manifest := builder.MakeDeployment("shop", "web").Replicas(int64(2+i)).Label("app", "web").Obj()
		w := builder.MakeWork(name, contract.WorkName("Deployment", "shop", "web")).Manifest(manifest).Obj()
		if i == 1 {
			w.Annotations = map[string]string{contract.AppliedOverridesAnnotation: `[{"policyName":"bigger-in-hamburg","overriders":{}}]`}
		}
		w.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: "True", Reason: workv1alpha1.ReasonAppliedSuccessful, LastTransitionTime: metav1.Now()}}
		Put(tb, c, w)
	}
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "shop", Name: "checkout.1"},
		InvolvedObject: corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "checkout"},
		Type:           corev1.EventTypeWarning, Reason: "SyncWorkFailed", Message: "Cluster lyon refuses the object.",
		FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(), Count: 1,
	}
	check(tb, c.Create(tb.Context(), event))
}

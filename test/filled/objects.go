package filled

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

// Fleet describes an idle hub of some size: each binding is in one cluster, which has reported its status.
type Fleet struct {
	Clusters, Bindings int
	// Namespaces is the number of namespaces of the templates; 0 means one per hundred.
	Namespaces int
	// Policies is the number of policies, which select equal shares of the templates; 0 means one per hundred.
	Policies int
}

// uid is deterministic per object, and as long as a real UID.
func uid(kind string, i int) types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", len(kind), i))
}

// made returns the metadata of an object as an API server would, with managed fields.
func made(kind, namespace, name string, i int) metav1.ObjectMeta {
	owned := fmt.Sprintf(`{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:%s":{}}}`, kind)
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: uid(kind, i), ResourceVersion: strconv.Itoa(1_000_000 + i), Generation: 2,
		CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, i%60, 0, time.UTC)),
		ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(owned)}},
		Labels:            map[string]string{},
		Annotations:       map[string]string{},
	}
}

// ClusterName returns the name of the i-th cluster.
func ClusterName(i int) string { return fmt.Sprintf("edge-%05d", i) }

// ClusterOf returns the cluster of the i-th binding.
func (f Fleet) ClusterOf(i int) string { return ClusterName(i % f.Clusters) }

// NamespaceOf returns the namespace of the i-th template.
func (f Fleet) NamespaceOf(i int) string {
	return fmt.Sprintf("team-%04d", i%share(f.Namespaces, f.Bindings))
}

// PolicyOf returns the policy that selects the i-th template.
func (f Fleet) PolicyOf(i int) string {
	return fmt.Sprintf("everything-%04d", i%share(f.Policies, f.Bindings))
}

// share returns n, or a hundredth of all if n is 0.
func share(n, all int) int { return max(1, cmp.Or(n, all/100)) }

// Cluster returns the i-th cluster, with the usual APIs and four nodes.
func (f Fleet) Cluster(i int) *clusterv1alpha1.Cluster {
	c := builder.MakeCluster(ClusterName(i)).Obj()
	c.ObjectMeta = made("Cluster", "", c.Name, i)
	c.Labels = map[string]string{"site": []string{"shop", "ship"}[i%2], "region": fmt.Sprintf("region-%d", i%4)}
	c.Annotations[contract.ExecutionNamespaceAnnotation] = contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, c.Name)
	c.Finalizers = []string{contract.ClusterFinalizer}
	c.Spec.Region, c.Spec.ID = fmt.Sprintf("region-%d", i%4), string(uid("id", i))
	c.Status.KubernetesVersion = "v1.36.1"
	for group := range 30 {
		one := clusterv1alpha1.APIEnablement{GroupVersion: fmt.Sprintf("group-%d.example.com/v1", group)}
		for kind := range 4 {
			one.Resources = append(one.Resources, clusterv1alpha1.APIResource{Name: fmt.Sprintf("things%ds", kind), Kind: fmt.Sprintf("Thing%d", kind)})
		}
		c.Status.APIEnablements = append(c.Status.APIEnablements, one)
	}
	c.Status.APIEnablements = append(c.Status.APIEnablements, clusterv1alpha1.APIEnablement{
		GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}},
	})
	c.Status.Conditions = []metav1.Condition{
		{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonClusterReady, Message: "The agent reports, and the API server of the cluster answers.", LastTransitionTime: c.CreationTimestamp},
		{Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonAPIEnablementsComplete, Message: "All APIs of the cluster are listed.", LastTransitionTime: c.CreationTimestamp},
	}
	c.Status.NodeSummary = &clusterv1alpha1.NodeSummary{TotalNum: 4, ReadyNum: 4}
	amounts := func(cpu, memory, pods string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourcePods: resource.MustParse(pods)}
	}
	c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: amounts("32", "128Gi", "440"), Allocated: amounts("9500m", "31Gi", "74")}
	c.Status.Agent = &clusterv1alpha1.AgentReport{Time: c.CreationTimestamp, Started: c.CreationTimestamp}
	return c
}

// Lease returns the lease of the i-th cluster.
func (f Fleet) Lease(i int) *coordinationv1.Lease {
	out := &coordinationv1.Lease{ObjectMeta: made("Lease", contract.ClusterNamespace, ClusterName(i), i)}
	out.Spec.HolderIdentity, out.Spec.LeaseDurationSeconds = new(string(uid("session", i))), new(int32(40))
	out.Spec.RenewTime = new(metav1.NewMicroTime(out.CreationTimestamp.Time))
	return out
}

// Template returns the metadata of the i-th template, a Deployment as applied by a user.
func (f Fleet) Template(i int) *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{ObjectMeta: made("Deployment", f.NamespaceOf(i), fmt.Sprintf("app-%05d", i), i)}
	out.APIVersion, out.Kind = "apps/v1", "Deployment"
	out.Labels["app"] = out.Name
	out.Labels[contract.ClusterPropagationPolicyPermanentIDLabel] = string(uid(f.PolicyOf(i), 0))
	out.Annotations[contract.ClusterPropagationPolicyNameAnnotation] = f.PolicyOf(i)
	out.Annotations[corev1.LastAppliedConfigAnnotation] = fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"replicas":2}}`, out.Name)
	return out
}

// placement is the placement of all bindings.
func placement() *policyv1alpha1.Placement {
	return &policyv1alpha1.Placement{
		ClusterAffinity:    &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"site": "shop"}}},
		ClusterTolerations: []corev1.Toleration{{Key: "cluster.karmada.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}},
		SpreadConstraints:  []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByCluster, MinGroups: 1, MaxGroups: 1}},
		ReplicaScheduling:  &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Aggregated},
	}
}

// deploymentStatus is the status of a Deployment as reported by a member.
func deploymentStatus() *runtime.RawExtension {
	return &runtime.RawExtension{Raw: []byte(`{"availableReplicas":2,"generation":1,"observedGeneration":1,"readyReplicas":2,"replicas":2,"resourceTemplateGeneration":2,"updatedReplicas":2}`)}
}

// condition returns a condition that is true since the creation of the object.
func condition(obj metav1.ObjectMeta, kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: obj.CreationTimestamp, ObservedGeneration: 2}
}

// Binding returns the binding of the i-th template.
func (f Fleet) Binding(i int) *workv1alpha2.ResourceBinding {
	template := f.Template(i)
	b := &workv1alpha2.ResourceBinding{ObjectMeta: made("ResourceBinding", template.Namespace, template.Name+"-deployment", i)}
	b.Labels[contract.ResourceBindingPermanentIDLabel] = string(uid("ResourceBinding", i))
	b.Labels[contract.ClusterPropagationPolicyPermanentIDLabel] = string(uid(f.PolicyOf(i), 0))
	b.Annotations[contract.ClusterPropagationPolicyNameAnnotation] = f.PolicyOf(i)
	applied, _ := json.Marshal(placement()) //nolint:errchkjson // It is always the same.
	b.Annotations[contract.AppliedPlacementAnnotation] = string(applied)
	b.Annotations[contract.TemplateFingerprintAnnotation] = fmt.Sprintf("%020x", i)
	b.Finalizers = []string{contract.BindingFinalizer}
	b.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: template.Name, UID: template.UID, Controller: new(true), BlockOwnerDeletion: new(true)}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: template.Namespace, Name: template.Name, UID: template.UID, ResourceVersion: template.ResourceVersion}
	b.Spec.Replicas, b.Spec.Clusters = 2, []workv1alpha2.TargetCluster{{Name: f.ClusterOf(i), Replicas: 2}}
	b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{Namespace: template.Namespace, ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")}}
	b.Spec.Placement, b.Spec.SchedulerName, b.Spec.ConflictResolution = placement(), contract.DefaultSchedulerName, policyv1alpha1.ConflictAbort
	b.Status.SchedulerObservedGeneration, b.Status.LastScheduledTime = 2, new(b.CreationTimestamp)
	b.Status.Conditions = []metav1.Condition{
		condition(b.ObjectMeta, workv1alpha2.BindingScheduled, workv1alpha2.ReasonScheduledSuccess, "Binding has been scheduled successfully."),
		condition(b.ObjectMeta, workv1alpha2.BindingFullyApplied, workv1alpha2.ReasonFullyAppliedSuccess, "All works have been successfully applied"),
	}
	b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: f.ClusterOf(i), Applied: true, Health: workv1alpha1.Healthy, Status: deploymentStatus()}}
	b.Status.TemplateStatusOf = fmt.Sprintf("%020x", i)
	return b
}

// Work returns the Work of the i-th binding.
func (f Fleet) Work(i int) *workv1alpha1.Work {
	b := f.Binding(i)
	name := contract.WorkName("Deployment", b.Spec.Resource.Namespace, b.Spec.Resource.Name)
	w := &workv1alpha1.Work{ObjectMeta: made("Work", contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, f.ClusterOf(i)), name, i)}
	w.Labels[contract.ResourceBindingPermanentIDLabel] = string(uid("ResourceBinding", i))
	w.Annotations[contract.ResourceBindingNamespaceAnnotation] = b.Namespace
	w.Annotations[contract.ResourceBindingNameAnnotation] = b.Name
	w.Annotations[contract.ManifestHashAnnotation] = fmt.Sprintf("%032x", i)
	w.Annotations[contract.RenderedFromAnnotation] = fmt.Sprintf("%032x", i)
	w.Annotations[contract.ReplicasAnnotation] = "2"
	w.Finalizers = []string{contract.ExecutionFinalizer}
	w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q}}`, b.Spec.Resource.Name))}}}
	w.Status.Conditions = []metav1.Condition{condition(w.ObjectMeta, workv1alpha1.WorkApplied, workv1alpha1.ReasonAppliedSuccessful, "Manifest has been successfully applied")}
	w.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{
		Identifier: workv1alpha1.ResourceIdentifier{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: b.Spec.Resource.Namespace, Name: b.Spec.Resource.Name},
		Status:     deploymentStatus(), Health: workv1alpha1.Healthy,
	}}
	return w
}

// Policies returns the policies that select the templates.
func (f Fleet) policies() []client.Object {
	var out []client.Object
	seen := map[string]bool{}
	for i := range f.Bindings {
		name := f.PolicyOf(i)
		if seen[name] {
			break
		}
		seen[name] = true
		p := &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: made("ClusterPropagationPolicy", "", name, i)}
		p.UID = uid(name, 0)
		p.Labels[contract.ClusterPropagationPolicyPermanentIDLabel] = string(p.UID)
		p.Finalizers = []string{contract.ClusterPropagationPolicyFinalizer}
		p.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment"}}
		p.Spec.Placement = *placement()
		out = append(out, p)
	}
	return out
}

// Objects returns all objects in the cache of the fleet's hub.
func (f Fleet) Objects() []client.Object {
	out := f.policies()
	namespaces := map[string]bool{}
	for i := range f.Clusters {
		c := f.Cluster(i)
		out = append(out, c, f.Lease(i), &corev1.Namespace{ObjectMeta: made("Namespace", "", c.Annotations[contract.ExecutionNamespaceAnnotation], i)})
	}
	for i := range f.Bindings {
		if name := f.NamespaceOf(i); !namespaces[name] {
			namespaces[name] = true
			out = append(out, &corev1.Namespace{ObjectMeta: made("Namespace", "", name, i)})
		}
		out = append(out, f.Template(i), f.Binding(i), f.Work(i))
	}
	return out
}

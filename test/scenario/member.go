package scenario

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// lease is the renewal interval of an agent's lease.
const lease = 10 * time.Second

// member is the real state of a cluster.
type member struct {
	name string
	// alive means that the cluster runs, and connected that its agent reaches the hub.
	alive, connected bool
	room             int64
	renews           time.Time
	objects          map[string]*object
	// sick are the applications that fail here, with the maximum number of ready replicas.
	sick map[string]int32
	// reported is the agent's last report of the cluster.
	reported report
}

// report is the last report of an agent on a cluster, and its inputs.
type report struct {
	cluster         *clusterv1alpha1.Cluster
	room, allocated int64
}

// object is a workload in a member.
type object struct {
	replicas, ready int32
	// readyAt is the time at which all replicas are ready.
	readyAt time.Time
	state   string
	// wellAt is the time at which at least that many replicas were last ready.
	wellAt map[int32]time.Time
	// executed is the agent's last execution of it.
	executed execution
}

// execution is the state of a Work, with all other inputs of the agent's decision.
type execution struct {
	work  *workv1alpha1.Work
	ready int32
	sick  bool // no replica becomes ready
}

// agents lets every member act.
func (w *world) agents() bool {
	changed := false
	for _, name := range names(w.members) {
		m := w.members[name]
		changed = m.run(w) || changed
		if m.alive && m.connected && w.clusters[name] != nil {
			changed = m.report(w) || changed
		}
	}
	return changed
}

// run lets objects in the member become ready.
func (m *member) run(w *world) bool {
	changed := false
	for _, name := range names(m.objects) {
		o := m.objects[name]
		ready, most := o.ready, o.replicas
		if n, sick := m.sick[name]; sick {
			most = min(most, n)
		}
		switch {
		case !m.alive || m.fails(name):
			ready, o.readyAt = 0, w.now.Add(w.apps[name].startup)
		case ready > most:
			ready = most
		case ready < most && !w.now.Before(o.readyAt):
			ready = most
		case ready < most:
			w.again(o.readyAt)
		}
		if ready != o.ready {
			o.ready, changed = ready, true
			w.tell("  %s: %s %d/%d", m.name, name, o.ready, o.replicas)
		}
		if o.ready >= o.replicas {
			o.wellAt[o.replicas] = w.now
		}
	}
	return changed
}

// fails reports whether no replica of an application is ready here.
func (m *member) fails(app string) bool {
	most, sick := m.sick[app]
	return sick && most == 0
}

// report is the work of an agent that reaches the hub.
func (m *member) report(w *world) bool {
	changed := false
	if !w.now.Before(m.renews) {
		m.renews = w.now.Add(lease)
		w.leases[m.name] = w.now
	}
	w.again(m.renews)
	changed = m.reportCluster(w)
	for _, name := range names(w.apps) {
		a := w.apps[name]
		if work := a.works[m.name]; work != nil {
			changed = m.execute(w, a, work) || changed
		}
	}
	return changed
}

// reportCluster reports the cluster as healthy, with its capacity.
func (m *member) reportCluster(w *world) bool {
	var allocated int64
	for _, o := range m.objects {
		allocated += int64(o.replicas)
	}
	if m.reported == (report{w.clusters[m.name], m.room, allocated}) {
		return false
	}
	c := w.clusters[m.name].DeepCopy()
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
		Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue, Reason: "ClusterReady", Message: "fine", LastTransitionTime: metav1.NewTime(w.now),
	})
	pods := func(n int64) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)}
	}
	c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: pods(m.room), Allocated: pods(allocated)}
	c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}}}
	changed := !equal(c, w.clusters[m.name])
	if changed {
		w.clusters[m.name] = c
	}
	m.reported = report{w.clusters[m.name], m.room, allocated}
	return changed
}

// execute applies a Work and reports the result, or deletes its objects.
func (m *member) execute(w *world, a *app, work *workv1alpha1.Work) bool {
	if !work.DeletionTimestamp.IsZero() {
		if contract.DeletesObjects(work.Annotations) {
			w.tell("  %s: %s removed", m.name, a.name)
			delete(m.objects, a.name)
		} else {
			w.tell("  %s: %s kept", m.name, a.name)
		}
		delete(a.works, m.name)
		return true
	}
	if ptr.Deref(work.Spec.SuspendDispatching, false) {
		return false // suspended: the objects stay, and are not reported
	}
	if o := m.objects[a.name]; o != nil && o.executed == (execution{work, o.ready, m.fails(a.name)}) {
		return false
	}
	manifest := &unstructured.Unstructured{}
	if err := manifest.UnmarshalJSON(work.Spec.Workload.Manifests[0].Raw); err != nil {
		panic(err)
	}
	replicas, _, _ := unstructured.NestedInt64(manifest.Object, "spec", "replicas")
	o := m.objects[a.name]
	if o == nil {
		o = &object{wellAt: map[int32]time.Time{}}
		m.objects[a.name] = o
	}
	if int32(replicas) != o.replicas {
		if int32(replicas) > o.replicas {
			o.readyAt = w.now.Add(a.startup)
			w.again(o.readyAt)
		}
		o.replicas, o.ready = int32(replicas), min(o.ready, int32(replicas))
	}
	o.state = manifest.GetLabels()["state"]
	status := work.Status.DeepCopy()
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedSuccessful", Message: "done",
		ObservedGeneration: work.Generation, LastTransitionTime: metav1.NewTime(w.now),
	})
	health := workv1alpha1.Healthy
	if o.ready < o.replicas || m.fails(a.name) {
		health = workv1alpha1.Unhealthy
	}
	status.ManifestStatuses = []workv1alpha1.ManifestStatus{{
		Identifier: workv1alpha1.ResourceIdentifier{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: a.name},
		Health:     health,
		Status:     &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"replicas":%d,"readyReplicas":%d,"job":"%s-%s"}`, o.replicas, o.ready, a.name, m.name)},
	}}
	changed := !equal(status, &work.Status)
	if changed {
		work = work.DeepCopy()
		work.Status = *status
		a.put(work)
	}
	o.executed = execution{work, o.ready, m.fails(a.name)}
	return changed
}

func clusterOf(work *workv1alpha1.Work) string {
	cluster, _ := contract.ClusterOf(contract.DefaultExecutionNamespacePrefix, work.Namespace)
	return cluster
}

func namespaceOf(cluster string) string {
	return contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, cluster)
}

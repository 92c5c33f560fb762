package builder

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// Cluster builds a Cluster, the hub's record of a member.
type Cluster struct{ obj clusterv1alpha1.Cluster }

// MakeCluster begins a Cluster in pull mode.
func MakeCluster(name string) *Cluster {
	return &Cluster{obj: clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull},
	}}
}

// Label sets a label.
func (c *Cluster) Label(key, value string) *Cluster {
	c.obj.Labels = with(c.obj.Labels, key, value)
	return c
}

// Region sets the region and the zones.
func (c *Cluster) Region(region string, zones ...string) *Cluster {
	c.obj.Spec.Region, c.obj.Spec.Zones = region, zones
	return c
}

// Provider sets the provider.
func (c *Cluster) Provider(provider string) *Cluster {
	c.obj.Spec.Provider = provider
	return c
}

// Taint adds a taint.
func (c *Cluster) Taint(key string, effect corev1.TaintEffect) *Cluster {
	c.obj.Spec.Taints = append(c.obj.Spec.Taints, corev1.Taint{Key: key, Effect: effect})
	return c
}

// Obj returns the Cluster.
func (c *Cluster) Obj() *clusterv1alpha1.Cluster { return c.obj.DeepCopy() }

// Work builds a Work.
type Work struct{ obj workv1alpha1.Work }

// MakeWork begins a Work in the execution namespace of a cluster.
func MakeWork(cluster, name string) *Work {
	return &Work{obj: workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace:  contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, cluster),
		Name:       name,
		Finalizers: []string{contract.ExecutionFinalizer},
	}}}
}

// Label sets a label.
func (w *Work) Label(key, value string) *Work {
	w.obj.Labels = with(w.obj.Labels, key, value)
	return w
}

// Manifest adds a manifest to the Work.
func (w *Work) Manifest(obj runtime.Object) *Work {
	raw, err := json.Marshal(obj)
	if err != nil {
		panic(err) // a mistake in the test
	}
	w.obj.Spec.Workload.Manifests = append(w.obj.Spec.Workload.Manifests,
		workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
	return w
}

// Obj returns the Work.
func (w *Work) Obj() *workv1alpha1.Work { return w.obj.DeepCopy() }

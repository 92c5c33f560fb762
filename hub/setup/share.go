package setup

import (
	"encoding/json"
	"hash/maphash"
	"sync"
	"unique"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// mostShared is how many values of each sort a sharer keeps. When there are more it begins anew: what is shared by then stays so.
const mostShared = 2048

// sharer has one copy in memory of what thousands of objects of a cache say alike: each is decoded by itself, and would have its own.
// What is in a cache is never changed. It is safe for use by many goroutines.
type sharer struct {
	placements shared[*policyv1alpha1.Placement]
	requests   shared[*workv1alpha2.ReplicaRequirements]
	apis       shared[[]clusterv1alpha1.APIEnablement]
}

// shared has values by a hash of their JSON.
type shared[T any] struct {
	mu   sync.Mutex
	seed maphash.Seed
	has  map[uint64]T
}

// one returns the value that is kept of those that are equal to v.
func (s *shared[T]) one(v T) T {
	raw, err := json.Marshal(v)
	if err != nil {
		return v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has == nil {
		s.seed, s.has = maphash.MakeSeed(), map[uint64]T{}
	}
	key := maphash.Bytes(s.seed, raw)
	if known, ok := s.has[key]; ok && apiequality.Semantic.DeepEqual(known, v) {
		return known
	}
	if len(s.has) >= mostShared {
		clear(s.has)
	}
	s.has[key] = v
	return v
}

// share has an object that was just decoded use what others have already.
func (s *sharer) share(obj any) {
	switch o := obj.(type) {
	case *workv1alpha2.ResourceBinding:
		shareMetadata(&o.TypeMeta, &o.ObjectMeta)
		s.binding(&o.Spec, &o.Status)
	case *workv1alpha2.ClusterResourceBinding:
		shareMetadata(&o.TypeMeta, &o.ObjectMeta)
		s.binding(&o.Spec, &o.Status)
	case *workv1alpha1.Work:
		shareMetadata(&o.TypeMeta, &o.ObjectMeta)
		shareConditions(o.Status.Conditions)
		for i := range o.Status.ManifestStatuses {
			id := &o.Status.ManifestStatuses[i].Identifier
			same(&id.Group, &id.Version, &id.Kind, &id.Resource, &id.Namespace)
		}
	case *metav1.PartialObjectMetadata:
		shareMetadata(&o.TypeMeta, &o.ObjectMeta)
	case *clusterv1alpha1.Cluster:
		shareMetadata(&o.TypeMeta, &o.ObjectMeta)
		shareConditions(o.Status.Conditions)
		o.Status.APIEnablements = s.apis.one(o.Status.APIEnablements)
	}
}

func (s *sharer) binding(spec *workv1alpha2.ResourceBindingSpec, status *workv1alpha2.ResourceBindingStatus) {
	if spec.Placement != nil {
		spec.Placement = s.placements.one(spec.Placement)
	}
	if spec.ReplicaRequirements != nil {
		spec.ReplicaRequirements = s.requests.one(spec.ReplicaRequirements)
	}
	same(&spec.Resource.APIVersion, &spec.Resource.Kind, &spec.Resource.Namespace, &spec.SchedulerName)
	for i := range spec.Clusters {
		same(&spec.Clusters[i].Name)
	}
	shareConditions(status.Conditions)
	for i := range status.AggregatedStatus {
		same(&status.AggregatedStatus[i].ClusterName)
	}
}

// alike says whether many objects have a label or an annotation with the same value.
func alike(key string) bool {
	switch key {
	case contract.PropagationPolicyPermanentIDLabel, contract.ClusterPropagationPolicyPermanentIDLabel,
		contract.PropagationPolicyNamespaceAnnotation, contract.PropagationPolicyNameAnnotation,
		contract.ClusterPropagationPolicyNameAnnotation, contract.AppliedPlacementAnnotation,
		contract.ResourceBindingNamespaceAnnotation, contract.ReplicasAnnotation:
		return true
	default:
		return false
	}
}

// shareMetadata shares the namespace of an object, the keys of its labels and annotations, and of their values those that are alike.
func shareMetadata(t *metav1.TypeMeta, m *metav1.ObjectMeta) {
	same(&t.APIVersion, &t.Kind, &m.Namespace)
	for i := range m.Finalizers {
		same(&m.Finalizers[i])
	}
	for i := range m.OwnerReferences {
		same(&m.OwnerReferences[i].APIVersion, &m.OwnerReferences[i].Kind)
	}
	m.Labels, m.Annotations = shareMap(m.Labels), shareMap(m.Annotations)
}

// shareMap returns a map of the same: a key that is there already stays as it is.
func shareMap(in map[string]string) map[string]string {
	if in == nil {
		return nil
	}
	out := make(map[string]string, len(in))
	for key, value := range in {
		same(&key)
		if alike(key) {
			same(&value)
		}
		out[key] = value
	}
	return out
}

func shareConditions(conditions []metav1.Condition) {
	for i := range conditions {
		c := &conditions[i]
		same(&c.Type, &c.Reason, &c.Message)
	}
}

// same replaces texts by those that are shared.
func same(texts ...*string) {
	for _, text := range texts {
		if *text != "" {
			*text = unique.Make(*text).Value()
		}
	}
}

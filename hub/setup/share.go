package setup

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"maps"
	"sync"
	"unique"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// mostShared is how many values of each sort a sharer keeps. When there are more it starts anew; objects that share a value go on doing so.
const mostShared = 2048

// mostText bounds the text of a shared value that may occur in one object only, in bytes: a value that is kept outlives its objects.
const mostText = 1024

// sharer deduplicates equal values of the thousands of objects in a cache, which would otherwise each have their own decoded copy. Sharing
// is safe because cached objects are never modified. It is safe for concurrent use.
type sharer struct {
	placements shared[*policyv1alpha1.Placement]
	requests   shared[*workv1alpha2.ReplicaRequirements]
	apis       shared[[]clusterv1alpha1.APIEnablement]
	rules      shared[[]rbacv1.PolicyRule]
	// metadata shares labels and annotations: Go allocates at least eight slots for each map, 336 bytes.
	metadata shared[map[string]string]
	statuses shared[*runtime.RawExtension]
}

// shared holds values by a hash of their contents.
type shared[T any] struct {
	mu   sync.Mutex
	seed maphash.Seed
	has  map[uint64]T
}

// one returns the shared value that equals v, hashed by its JSON.
func (s *shared[T]) one(v T) T {
	raw, err := json.Marshal(v)
	if err != nil {
		return v
	}
	return s.keep(v, func(seed maphash.Seed) uint64 { return maphash.Bytes(seed, raw) }, func(known T) bool { return apiequality.Semantic.DeepEqual(known, v) })
}

// keep returns the shared value with this hash that equals v; if there is none, v is shared from now on.
func (s *shared[T]) keep(v T, hash func(maphash.Seed) uint64, equal func(known T) bool) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has == nil {
		s.seed, s.has = maphash.MakeSeed(), map[uint64]T{}
	}
	key := hash(s.seed)
	if known, ok := s.has[key]; ok && equal(known) {
		return known
	}
	if len(s.has) >= mostShared {
		clear(s.has)
	}
	s.has[key] = v
	return v
}

// share replaces values of a newly decoded object by equal shared ones.
func (s *sharer) share(obj any) {
	if o, ok := obj.(metav1.ObjectMetaAccessor); ok {
		if m, ok := o.GetObjectMeta().(*metav1.ObjectMeta); ok {
			s.objectMeta(m)
		}
	}
	switch o := obj.(type) {
	case *workv1alpha2.ResourceBinding:
		same(&o.APIVersion, &o.Kind)
		s.binding(&o.Spec, &o.Status)
	case *workv1alpha2.ClusterResourceBinding:
		same(&o.APIVersion, &o.Kind)
		s.binding(&o.Spec, &o.Status)
	case *workv1alpha1.Work:
		same(&o.APIVersion, &o.Kind)
		shareConditions(o.Status.Conditions)
		for i := range o.Status.ManifestStatuses {
			m := &o.Status.ManifestStatuses[i]
			same(&m.Identifier.Group, &m.Identifier.Version, &m.Identifier.Kind, &m.Identifier.Resource, &m.Identifier.Namespace)
			m.Status = s.status(m.Status)
		}
	case *metav1.PartialObjectMetadata:
		same(&o.APIVersion, &o.Kind)
	case *clusterv1alpha1.Cluster:
		same(&o.APIVersion, &o.Kind)
		shareConditions(o.Status.Conditions)
		o.Status.APIEnablements = s.apis.one(o.Status.APIEnablements)
	case *rbacv1.Role:
		o.Rules = s.rules.one(o.Rules)
	case *rbacv1.ClusterRole:
		o.Rules = s.rules.one(o.Rules)
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
		status.AggregatedStatus[i].Status = s.status(status.AggregatedStatus[i].Status)
	}
}

// status shares the status that a cluster reports of an object, which is equal for most healthy ones.
func (s *sharer) status(status *runtime.RawExtension) *runtime.RawExtension {
	if status == nil || status.Object != nil || len(status.Raw) > mostText {
		return status
	}
	return s.statuses.keep(status, func(seed maphash.Seed) uint64 { return maphash.Bytes(seed, status.Raw) },
		func(known *runtime.RawExtension) bool { return bytes.Equal(known.Raw, status.Raw) })
}

// alike returns whether many objects have the same value for a label or an annotation.
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

// objectMeta shares the namespace, finalizers, owner kinds, labels and annotations of an object.
func (s *sharer) objectMeta(m *metav1.ObjectMeta) {
	same(&m.Namespace)
	for i := range m.Finalizers {
		same(&m.Finalizers[i])
	}
	for i := range m.OwnerReferences {
		same(&m.OwnerReferences[i].APIVersion, &m.OwnerReferences[i].Kind)
	}
	m.Labels, m.Annotations = s.texts(m.Labels), s.texts(m.Annotations)
}

// texts returns an equal map: a shared one, or a new one with shared keys and values. It cannot modify the old map, because assigning to an
// existing key does not replace the key's string.
func (s *sharer) texts(in map[string]string) map[string]string {
	if len(in) == 0 {
		return nil
	}
	out, size := make(map[string]string, len(in)), 0
	for key, value := range in {
		same(&key)
		if alike(key) {
			same(&value)
		} else {
			size += len(value)
		}
		out[key] = value
	}
	if size > mostText {
		return out
	}
	return s.metadata.keep(out, func(seed maphash.Seed) uint64 {
		var sum uint64 // independent of the order
		for key, value := range out {
			sum += maphash.Comparable(seed, [2]string{key, value})
		}
		return sum
	}, func(known map[string]string) bool { return maps.Equal(known, out) })
}

func shareConditions(conditions []metav1.Condition) {
	for i := range conditions {
		c := &conditions[i]
		same(&c.Type, &c.Reason, &c.Message)
	}
}

// same replaces strings by shared ones.
func same(texts ...*string) {
	for _, text := range texts {
		if *text != "" {
			*text = unique.Make(*text).Value()
		}
	}
}

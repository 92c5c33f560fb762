package native

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
)

// rules are the operations for one kind; an operation without a rule is nil. Each operation gets the content of
// objects and modifies only what its comment says.
type rules struct {
	// replicas returns how many replicas a template requests, and what each requires.
	replicas func(template content) (int32, *workv1alpha2.ReplicaRequirements, error)
	// revise sets the number of replicas in obj. It may modify only the top level of obj; it has to copy nested
	// objects first (see own).
	revise func(obj content, replicas int32) error
	// retain sets in desired, with the same restriction, the fields of live that the member owns.
	retain func(desired, live content) error
	// reflect returns the part of live's status that is reported to the hub; nil means nothing. For kinds without
	// this rule the whole status is reported.
	reflect func(live content) content
	// aggregate sets the status of template, which exists, to the aggregation of the items. The items are sorted by
	// cluster.
	aggregate func(template content, items []item) error
	// dependencies returns the objects that a template needs, without duplicates.
	dependencies func(template content) ([]configv1alpha1.DependentObjectReference, error)
	// healthy returns whether a live object is healthy.
	healthy func(live content) bool
}

// item is the report of one cluster.
type item struct {
	cluster string
	// status is nil if the cluster reported none.
	status content
}

// native is an interpreter made of a table of rules.
type native struct {
	kinds map[schema.GroupVersionKind]rules
}

// New returns the interpreter for the kinds of Kubernetes.
func New() interpreter.Interpreter {
	return &native{kinds: map[schema.GroupVersionKind]rules{
		kind("", "v1", "ReplicationController"):                        replicaSet(),
		kind("", "v1", "Namespace"):                                    {healthy: namespaceActive},
		kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"): {healthy: isServed("Established", "NamesAccepted")},
		kind("apiregistration.k8s.io", "v1", "APIService"):             {healthy: isServed("Available")},
		kind("apps", "v1", "Deployment"):                               deployment(),
		kind("apps", "v1", "ReplicaSet"):                               replicaSet(),
		kind("apps", "v1", "StatefulSet"):                              statefulSet(),
		kind("apps", "v1", "DaemonSet"):                                daemonSet(),
		kind("batch", "v1", "Job"):                                     job(),
		kind("batch", "v1", "CronJob"):                                 cronJob(),
		kind("", "v1", "Pod"):                                          pod(),
		kind("", "v1", "Service"):                                      service(),
		kind("networking.k8s.io", "v1", "Ingress"):                     ingress(),
		kind("", "v1", "PersistentVolumeClaim"):                        persistentVolumeClaim(),
		kind("", "v1", "PersistentVolume"):                             persistentVolume(),
		kind("", "v1", "ServiceAccount"):                               serviceAccount(),
		kind("", "v1", "Secret"):                                       secret(),
		kind("policy", "v1", "PodDisruptionBudget"):                    podDisruptionBudget(),
		kind("autoscaling", "v2", "HorizontalPodAutoscaler"):           horizontalPodAutoscaler(),
		kind("multicluster.x-k8s.io", "v1alpha1", "ServiceImport"):     {dependencies: serviceImportDependencies},
	}}
}

func kind(group, version, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: name}
}

// Has returns whether there is a rule. There is one for the status of every kind.
func (n *native) Has(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	r := n.kinds[kind]
	switch op {
	case interpreter.InterpretReplica:
		return r.replicas != nil
	case interpreter.ReviseReplica:
		return r.revise != nil
	case interpreter.Retain:
		return r.retain != nil
	case interpreter.InterpretStatus:
		return true
	case interpreter.AggregateStatus:
		return r.aggregate != nil
	case interpreter.InterpretHealth:
		return r.healthy != nil
	case interpreter.InterpretDependency:
		return r.dependencies != nil
	default:
		return false
	}
}

// Replicas returns how many replicas a template requests and what each requires.
func (n *native) Replicas(_ context.Context, template *unstructured.Unstructured) (int32, *workv1alpha2.ReplicaRequirements, error) {
	rule := n.kinds[template.GroupVersionKind()].replicas
	if rule == nil {
		return 0, nil, noRule(template, interpreter.InterpretReplica)
	}
	replicas, requirements, err := rule(template.Object)
	if err != nil {
		return 0, nil, fmt.Errorf("reading the replicas of %s %q: %w", template.GetKind(), template.GetName(), err)
	}
	return replicas, requirements, nil
}

// Components returns an error: no kind of Kubernetes has several pod templates.
func (n *native) Components(_ context.Context, template *unstructured.Unstructured) ([]workv1alpha2.Component, error) {
	return nil, noRule(template, interpreter.InterpretComponent)
}

// Dependencies returns the objects that a template needs.
func (n *native) Dependencies(_ context.Context, template *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error) {
	rule := n.kinds[template.GroupVersionKind()].dependencies
	if rule == nil {
		return nil, noRule(template, interpreter.InterpretDependency)
	}
	refs, err := rule(template.Object)
	if err != nil {
		return nil, fmt.Errorf("reading what %s %q needs: %w", template.GetKind(), template.GetName(), err)
	}
	slices.SortFunc(refs, configv1alpha1.DependentObjectReference.Compare)
	return refs, nil
}

// ReviseReplicas returns the object with another number of replicas.
func (n *native) ReviseReplicas(_ context.Context, obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	rule := n.kinds[obj.GroupVersionKind()].revise
	if rule == nil {
		return nil, noRule(obj, interpreter.ReviseReplica)
	}
	out := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	if err := rule(out.Object, replicas); err != nil {
		return nil, fmt.Errorf("setting the replicas of %s %q: %w", obj.GetKind(), obj.GetName(), err)
	}
	return out, nil
}

// Retain returns desired with the fields that belong to the member taken from live.
func (n *native) Retain(_ context.Context, desired, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	rule := n.kinds[desired.GroupVersionKind()].retain
	if rule == nil {
		return nil, noRule(desired, interpreter.Retain)
	}
	out := &unstructured.Unstructured{Object: maps.Clone(desired.Object)}
	if err := rule(out.Object, live.Object); err != nil {
		return nil, fmt.Errorf("retaining what the member owns of %s %q: %w", desired.GetKind(), desired.GetName(), err)
	}
	return out, nil
}

// ReflectStatus returns the part of a live object's status that is reported to the hub.
func (n *native) ReflectStatus(_ context.Context, live *unstructured.Unstructured) (*runtime.RawExtension, error) {
	status := contentAt(live.Object, "status")
	if status == nil {
		return nil, nil
	}
	if rule := n.kinds[live.GroupVersionKind()].reflect; rule != nil {
		if status = rule(live.Object); len(status) == 0 {
			return nil, nil
		}
	}
	raw, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("encoding the status of %s %q: %w", live.GetKind(), live.GetName(), err)
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

// AggregateStatus returns the template with the status aggregated from the members' items, or the template itself if
// nothing changes.
func (n *native) AggregateStatus(_ context.Context, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (*unstructured.Unstructured, error) {
	rule := n.kinds[template.GroupVersionKind()].aggregate
	if rule == nil {
		return nil, noRule(template, interpreter.AggregateStatus)
	}
	decoded, err := decode(items)
	if err != nil {
		return nil, fmt.Errorf("adding up the status of %s %q: %w", template.GetKind(), template.GetName(), err)
	}
	before := contentAt(template.Object, "status")
	draft := maps.Clone(template.Object)
	draft["status"] = runtime.DeepCopyJSON(before)
	if before == nil {
		draft["status"] = content{}
	}
	if err := rule(draft, decoded); err != nil {
		return nil, fmt.Errorf("adding up the status of %s %q: %w", template.GetKind(), template.GetName(), err)
	}
	if equal(before, contentAt(draft, "status")) {
		return template, nil
	}
	return &unstructured.Unstructured{Object: draft}, nil
}

// Health returns the health of a live object.
func (n *native) Health(_ context.Context, live *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	rule := n.kinds[live.GroupVersionKind()].healthy
	switch {
	case rule == nil:
		return workv1alpha1.Unknown, noRule(live, interpreter.InterpretHealth)
	case rule(live.Object):
		return workv1alpha1.Healthy, nil
	default:
		return workv1alpha1.Unhealthy, nil
	}
}

func noRule(obj *unstructured.Unstructured, op interpreter.Operation) error {
	return fmt.Errorf("no rule %s for %s of %s", op, obj.GetKind(), obj.GetAPIVersion())
}

// decode decodes the statuses of the items and sorts them by cluster.
func decode(items []workv1alpha2.AggregatedStatusItem) ([]item, error) {
	out := make([]item, 0, len(items))
	for i := range items {
		it := item{cluster: items[i].ClusterName}
		if raw := items[i].Status; raw != nil && len(raw.Raw) > 0 {
			if err := json.Unmarshal(raw.Raw, &it.status); err != nil {
				return nil, fmt.Errorf("reading what cluster %q reported: %w", it.cluster, err)
			}
		}
		out = append(out, it)
	}
	slices.SortStableFunc(out, func(a, b item) int { return cmp.Compare(a.cluster, b.cluster) })
	return out, nil
}

package kubefed

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	kjson "sigs.k8s.io/json"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/prune"
)

// isReservedNamespace says whether KubeFed ignores a namespace.
func isReservedNamespace(namespace string) bool {
	return slices.Contains([]string{"kube-system", "kube-public", "default", "kube-federation-system"}, namespace)
}

// namespace reads the placement of a FederatedNamespace, which restricts that of everything in it.
func (c *converter) namespace(i *item) {
	if t, known := c.target(i); !known || !t.isNamespace() {
		return
	}
	name := i.Object.GetNamespace()
	c.namespaces[name] = i
	if i.Object.GetName() != name {
		i.refuse("metadata.name", "a FederatedNamespace must have the name of its own namespace, which is %q", name)
		return
	}
	var f federated
	if i.Object.GetDeletionTimestamp() == nil && i.decode(&f) {
		c.reaches[name] = i.reach(f.Spec.Placement)
	}
}

// reach converts a placement, and refuses what is invalid.
func (i *item) reach(p placement) reach {
	if p.Clusters != nil {
		for n, ref := range *p.Clusters {
			if err := bootstrap.ValidateClusterName(ref.Name); err != nil {
				i.refuse(fmt.Sprintf("spec.placement.clusters[%d].name", n), "%v here", err)
			}
		}
		if p.ClusterSelector != nil {
			i.tell("spec.placement.clusterSelector", "left out: named clusters take precedence")
		}
	} else if _, err := metav1.LabelSelectorAsSelector(p.ClusterSelector); err != nil {
		i.refuse("spec.placement.clusterSelector", "%v", err)
	}
	return reachOf(p)
}

// federated converts an object of a federated kind.
func (c *converter) federated(i *item, t target) {
	var f federated
	if !i.decode(&f) {
		return
	}
	if wrong := t.placed(i.Object.GetNamespace()); wrong != "" {
		i.refuse("metadata.namespace", "%s", wrong)
		return
	}
	obj := i.template(&f, t)
	own := c.bounded(i, t, i.reach(f.Spec.Placement))
	spec := policyv1alpha1.PropagationSpec{
		ResourceSelectors:  []policyv1alpha1.ResourceSelector{{APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Name: obj.GetName()}},
		ConflictResolution: c.conflict,
	}
	if t.suspended {
		spec.Suspension = &policyv1alpha1.Suspension{Dispatching: new(true)}
	}
	i.options(obj, &spec)
	key := preferenceKey{kind: i.Object.GetKind(), namespace: i.Object.GetNamespace(), name: i.Object.GetName()}
	pref := c.preferences[key]
	delete(c.preferences, key)
	found := i.overrides(&f, obj, t)
	i.refuseWholeSpec(&f, found, pref)
	if f.Spec.RetainReplicas {
		i.retain(obj, t, own, found, pref)
	}
	switch {
	case pref != nil:
		own = c.prefer(i, pref, &f, found, &spec, obj)
	case len(found.replicas) > 0:
		i.divide(own, found, &spec, obj)
	}
	if i.refused {
		return
	}
	c.emit(i, obj, t, own, found, spec)
}

// bounded restricts a placement to that of the namespace.
func (c *converter) bounded(i *item, t target, own reach) reach {
	namespace := i.Object.GetNamespace()
	if c.options.Namespaced || t.isNamespace() || namespace == "" {
		return own
	}
	if ns := c.namespaces[namespace]; ns != nil && ns.refused {
		i.refuse("metadata.namespace", "its FederatedNamespace is refused, so its clusters are unknown")
		return own
	}
	bound, federated := c.reaches[namespace]
	if !federated {
		if !own.nowhere {
			i.tell("spec.placement", "it is in no cluster, because namespace %q has no FederatedNamespace: it gets no policy", namespace)
		}
		return reach{nowhere: true}
	}
	return own.and(bound)
}

// template returns what KubeFed would send before overrides.
func (i *item) template(f *federated, t target) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(f.Spec.Template)}
	if f.Spec.Template == nil {
		i.refuse("spec.template", "it is missing")
		obj.Object = map[string]any{}
	}
	metadata, _ := obj.Object["metadata"].(map[string]any)
	if _, isMap := obj.Object["metadata"].(map[string]any); obj.Object["metadata"] != nil && !isMap {
		i.refuse("spec.template.metadata", "it is not an object")
	}
	for _, field := range slices.Sorted(maps.Keys(metadata)) {
		path := "spec.template.metadata." + field
		switch field {
		case "labels", "creationTimestamp":
		case "name", "namespace":
			if metadata[field] != map[string]string{"name": i.Object.GetName(), "namespace": i.Object.GetNamespace()}[field] {
				i.tell(path, "left out: only that of the federated object counts")
			}
		case "annotations", "finalizers":
			i.tell(path, "left out, as KubeFed does; write them into the template if members are to have them")
		default:
			i.tell(path, "left out: it belongs to one object in one cluster")
		}
	}
	labels, _, err := unstructured.NestedStringMap(obj.Object, "metadata", "labels")
	if err != nil {
		i.refuse("spec.template.metadata.labels", "not all of them are strings")
	}
	delete(labels, managedLabel)
	if obj.Object["status"] != nil {
		i.tell("spec.template.status", "left out: a cluster reports it")
		delete(obj.Object, "status")
	}
	apiVersion, kind := obj.GetAPIVersion(), obj.GetKind()
	delete(obj.Object, "metadata")
	obj.SetAPIVersion(apiVersion)
	if apiVersion == "" {
		obj.SetAPIVersion(t.gvk.GroupVersion().String())
	}
	if kind != "" && kind != t.gvk.Kind {
		i.tell("spec.template.kind", "left out: only the %s of the federated kind counts", t.gvk.Kind)
	}
	obj.SetKind(t.gvk.Kind)
	obj.SetName(i.Object.GetName())
	if !t.isNamespace() && i.Object.GetNamespace() != "" {
		obj.SetNamespace(i.Object.GetNamespace())
	}
	if len(labels) > 0 {
		obj.SetLabels(labels)
	}
	i.tellUnsent(obj)
	return obj
}

// tellUnsent reports the fields of a template that KubeFed sends and the hub does not.
func (i *item) tellUnsent(obj *unstructured.Unstructured) {
	sent := obj.DeepCopy()
	prune.Object(sent)
	for _, field := range missingPaths("spec.template", obj.Object, sent.Object) {
		i.tell(field, "not sent to the members: it belongs to one object in one cluster, where it is filled in; this hub keeps it on the template")
	}
}

// missingPaths returns the paths of fields that are in one object and not in the other.
func missingPaths(at string, whole, rest map[string]any) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(whole)) {
		left, has := rest[key]
		below, isMap := whole[key].(map[string]any)
		leftBelow, stillMap := left.(map[string]any)
		switch {
		case !has:
			out = append(out, at+"."+key)
		case isMap && stillMap:
			out = append(out, missingPaths(at+"."+key, below, leftBelow)...)
		}
	}
	return out
}

// asMap converts a value of the API to JSON without empty fields.
func asMap(value any) map[string]any {
	raw, err := json.Marshal(value)
	var out map[string]any
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &out)
	}
	if err != nil {
		panic(err) // cannot happen: API types can be encoded
	}
	dropEmpty(out)
	return out
}

// dropEmpty removes empty objects and nulls. In an override, the value is kept unless the operator is remove.
func dropEmpty(m map[string]any) {
	for key, value := range m {
		if key == "value" && m["operator"] != string(policyv1alpha1.OverrideRemove) {
			continue
		}
		switch v := value.(type) {
		case map[string]any:
			dropEmpty(v)
			if len(v) == 0 && key != "targetCluster" {
				delete(m, key)
			}
		case []any:
			for _, e := range v {
				if child, ok := e.(map[string]any); ok {
					dropEmpty(child)
				}
			}
		case nil:
			if key == "value" {
				delete(m, key)
			}
		}
	}
}

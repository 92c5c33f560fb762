package kubefed

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kjson "sigs.k8s.io/json"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
)

// options converts the labels and annotations of the federated object itself.
func (i *item) options(obj *unstructured.Unstructured, spec *policyv1alpha1.PropagationSpec) {
	annotations := i.Object.GetAnnotations()
	if len(i.Object.GetLabels()) > 0 {
		i.tell("metadata.labels", "left out: KubeFed gives members only those of the template")
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		field := "metadata.annotations[" + key + "]"
		switch key {
		case corev1.LastAppliedConfigAnnotation:
		case orphanAnnotation:
			if annotations[key] == "true" {
				spec.PreserveResourcesOnDeletion = new(true)
			} else {
				i.tell(field, "left out: only \"true\" means anything")
			}
		case deleteOptionAnnotation:
			i.deletion(field, annotations[key], obj)
		default:
			i.tell(field, "left out: KubeFed gives members none of the annotations of a federated object")
		}
	}
}

// deletion converts KubeFed's options for deletion.
func (i *item) deletion(field, value string, obj *unstructured.Unstructured) {
	var o deleteOptions
	unknown, err := kjson.UnmarshalStrict([]byte(value), &o)
	if err != nil || len(unknown) > 0 {
		i.refuse(field, "it does not hold delete options as JSON")
		return
	}
	for name, set := range map[string]bool{
		"gracePeriodSeconds": o.GracePeriodSeconds != nil, "preconditions": o.Preconditions != nil,
		"orphanDependents": o.OrphanDependents != nil, "dryRun": len(o.DryRun) > 0,
	} {
		if set {
			i.refuse(field, "%s is not supported here; remove it, and set propagationPolicy", name)
		}
	}
	if o.PropagationPolicy == nil {
		return
	}
	switch *o.PropagationPolicy {
	case string(metav1.DeletePropagationForeground), string(metav1.DeletePropagationBackground), string(metav1.DeletePropagationOrphan):
		obj.SetAnnotations(map[string]string{contract.DeletionPropagationAnnotation: *o.PropagationPolicy})
	default:
		i.refuse(field, "propagationPolicy %q must be Foreground, Background or Orphan", *o.PropagationPolicy)
	}
}

func label(obj *unstructured.Unstructured, key, value string) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	obj.SetLabels(labels)
}

// retain converts retainReplicas. KubeFed retains replicas before it applies overrides, so it does not where they
// override the replicas.
func (i *item) retain(obj *unstructured.Unstructured, t target, own reach, found differences, pref *item) {
	const field = "spec.retainReplicas"
	free := func(cluster string) bool { _, overridden := found.replicas[cluster]; return !overridden }
	switch {
	case !t.scalable():
		i.tell(field, "left out: %s has no replicas", t.gvk.Kind)
	case pref != nil:
		i.tell(field, "left out: the replicas are those of %s, which KubeFed does not leave to the members either", pref.name)
	case len(own.names) > 0 && !slices.ContainsFunc(own.names, free):
		i.tell(field, "left out: the replicas are overridden in every cluster, which KubeFed does not leave to the members either")
	default:
		label(obj, contract.RetainReplicasLabel, "true")
		if len(found.replicas) > 0 {
			i.tell(field, "the replicas are left to all members, also where KubeFed overrides them, which are %s",
				strings.Join(slices.Sorted(maps.Keys(found.replicas)), ", "))
		}
	}
}

// emit adds the result of converting an object.
func (c *converter) emit(i *item, obj *unstructured.Unstructured, t target, where reach, found differences, spec policyv1alpha1.PropagationSpec) {
	if t.isNamespace() && isReservedNamespace(obj.GetName()) {
		i.tell("", "left out: KubeFed leaves this namespace alone, and so does this hub; it bounds what is in it")
		return
	}
	if obj.GetNamespace() != "" {
		c.needed[obj.GetNamespace()] = true
	}
	name := c.uniqueName(obj)
	if t.isNamespace() {
		c.namespaced = append(c.namespaced, obj)
	} else {
		c.templates = append(c.templates, obj)
	}
	if rules := found.rules(); len(rules) > 0 {
		o := policyObject(policyv1alpha1.KindOverridePolicy, obj, name)
		o.Object["spec"] = asMap(policyv1alpha1.OverrideSpec{ResourceSelectors: spec.ResourceSelectors, OverrideRules: rules})
		c.overrides = append(c.overrides, o)
	}
	if where.nowhere {
		i.tell("spec.placement", "it is in no cluster: it gets no policy")
		return
	}
	spec.Placement.ClusterAffinity = where.affinity()
	p := policyObject(policyv1alpha1.KindPropagationPolicy, obj, name)
	p.Object["spec"] = asMap(spec)
	c.places = append(c.places, p)
}

// policyObject returns a policy for an object, in its namespace or cluster-scoped.
func policyObject(kind string, about *unstructured.Unstructured, name string) *unstructured.Unstructured {
	if about.GetNamespace() == "" {
		kind = "Cluster" + kind
	}
	return object(policyv1alpha1.GroupVersion.String(), kind, about.GetNamespace(), name)
}

// policyName returns the name of the policies for an object.
func policyName(obj *unstructured.Unstructured) string {
	const longest = 240 // leaves room for a number
	name := contract.BindingName(obj.GetKind(), obj.GetName())
	if len(name) > longest {
		name = strings.TrimRight(name[:longest-12], "-.") + "-" + contract.Hash(name)
	}
	return name
}

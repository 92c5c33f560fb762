package karmada

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/override"
	"fairlead.dev/common/prune"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/binding/render"
	"fairlead.dev/hub/people/migrate/conversion"
)

// Change is the effect of the migration on one object of a member.
type Change struct {
	Cluster, Object string
	// Sent is what the old control plane sent; nil if nothing. Desired is what this hub would send; if nil, it would
	// send nothing, and the object stays unchanged in the member.
	Sent, Desired *unstructured.Unstructured
	// Failed says why the effect is unknown; empty if it is known.
	Failed string
}

// Revise returns the function that sets the replicas of a kind; nil if there is none.
type Revise func(schema.GroupVersionKind) render.Revise

// Compare renders what a hub with the converted objects would send to each member, next to what the Works among the
// documents sent. The result is sorted by cluster and object.
func Compare(documents []conversion.Document, converted conversion.Result, o Options, revise Revise) []Change {
	h := hub{revise: revise, templates: map[string]*unstructured.Unstructured{}, bindings: map[string]*workv1alpha2.ResourceBinding{}, clusters: map[string]*clusterv1alpha1.Cluster{}}
	for _, obj := range converted.Objects {
		h.add(obj)
	}
	documents = conversion.Flatten(documents)
	for _, d := range documents {
		h.remember(d.Object)
	}
	wanted := (&converter{options: o}).isIncluded
	var out []Change
	sentTo := map[string]bool{}
	for _, d := range documents {
		name, ok := contract.ClusterOf(contract.DefaultExecutionNamespacePrefix, d.Object.GetNamespace())
		if roleOf(d.Object) != work || !ok || !wanted(name) || d.Object.GetDeletionTimestamp() != nil {
			continue
		}
		var w workv1alpha1.Work
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object.Object, &w); err != nil {
			out = append(out, Change{Cluster: name, Object: conversion.NameOf(d.Object), Failed: err.Error()})
			continue
		}
		for _, m := range w.Spec.Workload.Manifests {
			sent := &unstructured.Unstructured{}
			if err := sent.UnmarshalJSON(m.Raw); err != nil {
				out = append(out, Change{Cluster: name, Object: conversion.NameOf(d.Object), Failed: err.Error()})
				continue
			}
			sentTo[name+"/"+key(sent.GetKind(), sent.GetNamespace(), sent.GetName())] = true
			out = append(out, h.compare(name, sent))
		}
	}
	for at, b := range h.bindings {
		for _, t := range bindings.Targets(&b.Spec) {
			template := h.templates[at]
			if len(sentTo) > 0 && template != nil && wanted(t.Name) && !sentTo[t.Name+"/"+at] {
				out = append(out, h.begin(t.Name, template))
			}
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Object, b.Object))
	})
	return out
}

// hub has the objects that this hub would have after the migration.
type hub struct {
	revise    Revise
	templates map[string]*unstructured.Unstructured
	bindings  map[string]*workv1alpha2.ResourceBinding
	clusters  map[string]*clusterv1alpha1.Cluster
	overrides override.Policies
}

// key identifies an object the way that Works and bindings do.
func key(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// add adds a converted object.
func (h *hub) add(obj *unstructured.Unstructured) {
	switch obj.GetKind() {
	case policyv1alpha1.KindOverridePolicy:
		var p policyv1alpha1.OverridePolicy
		if runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &p) == nil {
			h.overrides.Namespaced = append(h.overrides.Namespaced, p)
		}
	case policyv1alpha1.KindClusterOverridePolicy:
		var p policyv1alpha1.ClusterOverridePolicy
		if runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &p) == nil {
			h.overrides.Cluster = append(h.overrides.Cluster, p)
		}
	default:
		h.templates[key(obj.GetKind(), obj.GetNamespace(), obj.GetName())] = obj
	}
}

// remember adds what only the old control plane has, such as bindings that are attached to others.
func (h *hub) remember(obj *unstructured.Unstructured) {
	kind := roleOf(obj)
	if kind == cluster {
		var c clusterv1alpha1.Cluster
		if runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &c) == nil {
			h.clusters[c.Name] = &c
		}
	}
	if kind == binding {
		if b, err := bindingOf(obj); err == nil {
			h.bindings[key(b.Spec.Resource.Kind, b.Spec.Resource.Namespace, b.Spec.Resource.Name)] = b
		}
	}
}

// begin renders an object for a member to which the old control plane did not send it.
func (h *hub) begin(clusterName string, template *unstructured.Unstructured) Change {
	out := h.compare(clusterName, template)
	out.Sent = nil
	return out
}

// compare renders one object for a member.
func (h *hub) compare(clusterName string, sent *unstructured.Unstructured) Change {
	out := Change{Cluster: clusterName, Object: conversion.NameOf(sent), Sent: plain(sent)}
	at := key(sent.GetKind(), sent.GetNamespace(), sent.GetName())
	template, b := h.templates[at], h.bindings[at]
	if template == nil {
		return out
	}
	if sent.GetKind() == "Namespace" && b == nil {
		out.Desired = plain(template) // a namespace is sent along with what is in it
		return out
	}
	if b == nil || h.clusters[clusterName] == nil {
		out.Failed = "there is no binding of it, or no such Cluster, among the objects"
		return out
	}
	b = b.DeepCopy()
	if b.Labels == nil {
		b.Labels = map[string]string{}
	}
	b.Labels[bindings.IDLabel(b.Namespace)] = "id"
	targets := bindings.Targets(&b.Spec)
	i := slices.IndexFunc(targets, func(t workv1alpha2.TargetCluster) bool { return t.Name == clusterName })
	if i < 0 {
		return out
	}
	rendered, err := render.Work(render.Input{
		Template: template, Binding: b, Target: targets[i], Cluster: h.clusters[clusterName], Revise: h.revise(template.GroupVersionKind()),
		Overrides: override.Select(h.overrides, selector.TargetOf(template)), ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix,
	})
	desired := &unstructured.Unstructured{}
	if err == nil {
		err = desired.UnmarshalJSON(rendered.Spec.Workload.Manifests[0].Raw)
	}
	if err != nil {
		out.Failed = fmt.Sprintf("it cannot be rendered: %v", err)
		return out
	}
	out.Desired = plain(desired)
	return out
}

// plain returns an object as a member sees it, without the marks of a control plane.
func plain(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	prune.Object(out)
	marks := func(name, _ string) bool {
		domain, _, _ := strings.Cut(name, "/")
		return written(name) || (strings.HasSuffix(domain, "karmada.io") || domain+"/" == contract.Prefix) && name != contract.RetainReplicasLabel
	}
	labels, annotations := out.GetLabels(), out.GetAnnotations()
	maps.DeleteFunc(labels, marks)
	maps.DeleteFunc(annotations, marks)
	setMetadata(out, labels, annotations)
	return out
}

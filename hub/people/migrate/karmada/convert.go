package karmada

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/prune"
	"fairlead.dev/hub/people/migrate/conversion"
)

// Options are the options of a conversion.
type Options struct {
	// Clusters are the clusters to migrate; empty means all.
	Clusters []string
}

// Convert converts the objects of a control plane.
func Convert(documents []conversion.Document, o Options) conversion.Result {
	c := &converter{options: o, byRole: map[role][]*unstructured.Unstructured{}, files: map[string][]string{}, withheld: map[string]bool{}}
	documents = slices.SortedStableFunc(slices.Values(conversion.Flatten(documents)), func(a, b conversion.Document) int {
		return cmp.Or(strings.Compare(a.Object.GetKind(), b.Object.GetKind()), strings.Compare(a.Object.GetNamespace(), b.Object.GetNamespace()),
			strings.Compare(a.Object.GetName(), b.Object.GetName()), strings.Compare(a.Object.GetAPIVersion(), b.Object.GetAPIVersion()), strings.Compare(a.File, b.File))
	})
	for _, d := range documents {
		c.files[identity(d.Object)] = append(c.files[identity(d.Object)], d.File)
	}
	for _, d := range documents {
		c.convert(d)
	}
	for _, name := range o.Clusters {
		if !slices.Contains(c.clusters, name) {
			c.out.Findings = append(c.out.Findings, conversion.Finding{Refused: true, Object: "Cluster " + name, Text: "there is no such cluster; correct --cluster"})
		}
	}
	// Without its placement, an object would be rescheduled, possibly to other clusters, and run twice.
	c.byRole[template] = slices.DeleteFunc(c.byRole[template], func(obj *unstructured.Unstructured) bool {
		return c.withheld[key(obj.GetKind(), obj.GetNamespace(), obj.GetName())]
	})
	c.byRole[binding] = slices.DeleteFunc(c.byRole[binding], func(obj *unstructured.Unstructured) bool {
		resource, _, _ := unstructured.NestedStringMap(obj.Object, "spec", "resource")
		return c.withheld[key(resource["kind"], resource["namespace"], resource["name"])]
	})
	for r := namespace; r <= policy; r++ {
		c.out.Objects = append(c.out.Objects, c.byRole[r]...)
	}
	c.out.Sort()
	return c.out
}

type converter struct {
	options Options
	byRole  map[role][]*unstructured.Unstructured
	// files are the files that contain each object.
	files map[string][]string
	// withheld are the objects that are not converted, together with their bindings, because one of the two cannot be.
	withheld map[string]bool
	clusters []string
	out      conversion.Result
}

func (c *converter) convert(d conversion.Document) {
	kind := roleOf(d.Object)
	find := func(refused bool, field, format string, args ...any) {
		c.out.Findings = append(c.out.Findings, conversion.Finding{
			Refused: refused, File: d.File, Object: conversion.NameOf(d.Object), Field: field, Text: fmt.Sprintf(format, args...),
		})
	}
	if kind == machinery || kind == work {
		return
	}
	if files := c.files[identity(d.Object)]; len(files) > 1 {
		c.omitDuplicate(d, kind)
		other := files[0]
		if at := slices.IndexFunc(files, func(file string) bool { return file != d.File }); at >= 0 {
			other = files[at]
		}
		find(true, "metadata.name", "the object is in %s too; remove one of the two", other)
		return
	}
	switch {
	case kind == unknown:
		find(true, "kind", "this hub has no %s; leave it out, and do its work by hand", d.Object.GetKind())
	case kind == once:
		find(false, "", "left out: it was already carried out")
	case d.Object.GetDeletionTimestamp() != nil:
		find(false, "metadata.deletionTimestamp", "it is being deleted, and left out")
	case kind == cluster:
		c.cluster(d, find)
	case kind == binding:
		c.binding(d, find)
	default:
		c.byRole[kind] = append(c.byRole[kind], cleaned(d.Object))
	}
}

// identity identifies an object regardless of its version.
func identity(obj *unstructured.Unstructured) string {
	return obj.GroupVersionKind().GroupKind().String() + " " + conversion.NameOf(obj)
}

// omitDuplicate omits an object that occurs more than once, since it is unclear which copy is meant, together with its
// binding or the object that it binds.
func (c *converter) omitDuplicate(d conversion.Document, kind role) {
	switch kind {
	case binding:
		c.omitBound(d.Object)
	case cluster:
		c.clusters = append(c.clusters, d.Object.GetName())
	default:
		c.withheld[key(d.Object.GetKind(), d.Object.GetNamespace(), d.Object.GetName())] = true
	}
}

// omitBound omits the object of a binding.
func (c *converter) omitBound(b *unstructured.Unstructured) {
	resource, _, _ := unstructured.NestedStringMap(b.Object, "spec", "resource")
	c.withheld[key(resource["kind"], resource["namespace"], resource["name"])] = true
}

type finder = func(refused bool, field, format string, args ...any)

// cleaned returns an object without what an API server and the old control plane wrote to it.
func cleaned(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	prune.Generated(out) // the template keeps its ttlSecondsAfterFinished
	labels, annotations := out.GetLabels(), out.GetAnnotations()
	ours := func(key, _ string) bool { return written(key) }
	maps.DeleteFunc(labels, ours)
	maps.DeleteFunc(annotations, ours)
	setMetadata(out, labels, annotations)
	return out
}

// setMetadata sets labels and annotations, and omits empty maps.
func setMetadata(obj *unstructured.Unstructured, labels, annotations map[string]string) {
	obj.SetLabels(nil)
	obj.SetAnnotations(nil)
	if len(labels) > 0 {
		obj.SetLabels(labels)
	}
	if len(annotations) > 0 {
		obj.SetAnnotations(annotations)
	}
}

// written says whether a label or annotation is written by a control plane rather than by people.
func written(key string) bool {
	switch key {
	case corev1.LastAppliedConfigAnnotation,
		contract.PropagationPolicyPermanentIDLabel, contract.ClusterPropagationPolicyPermanentIDLabel,
		contract.PropagationPolicyNamespaceAnnotation, contract.PropagationPolicyNameAnnotation, contract.ClusterPropagationPolicyNameAnnotation,
		contract.ResourceBindingPermanentIDLabel, contract.ClusterResourceBindingPermanentIDLabel,
		contract.AppliedPlacementAnnotation, contract.DependenciesAnnotation,
		"policy.karmada.io/permanent-id", "propagationpolicy.karmada.io/uid", "clusterpropagationpolicy.karmada.io/uid":
		return true
	}
	return strings.HasPrefix(key, contract.DependedByLabelPrefix)
}

// isIncluded says whether a cluster is migrated.
func (c *converter) isIncluded(name string) bool {
	return len(c.options.Clusters) == 0 || slices.Contains(c.options.Clusters, name)
}

// taintTerminating is the taint on a Cluster that a Karmada control plane is removing.
const taintTerminating = "cluster.karmada.io/terminating"

// cluster adds the command with which a member joins.
func (c *converter) cluster(d conversion.Document, find finder) {
	var member clusterv1alpha1.Cluster
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object.Object, &member); err != nil {
		find(true, "", "it cannot be read: %v", err)
		return
	}
	c.clusters = append(c.clusters, member.Name)
	if !c.isIncluded(member.Name) {
		return
	}
	if member.Spec.SyncMode == "Push" {
		find(false, "spec.syncMode", "the cluster gets an agent, so nothing dials the cluster any more")
	}
	for _, taint := range member.Spec.Taints {
		switch taint.Key {
		case contract.TaintClusterNotReady, contract.TaintClusterUnreachable, taintTerminating: // this hub sets its own
		case contract.TaintClusterUnschedulable:
			find(false, "spec.taints", "the cluster is cordoned; run `hub cordon %s` once it has joined and before you apply", member.Name)
		default:
			find(false, "spec.taints", "put %s on the cluster again once it has joined", taint.ToString())
		}
	}
	if ready := meta.FindStatusCondition(member.Status.Conditions, clusterv1alpha1.ClusterReady); ready != nil && ready.Status != metav1.ConditionTrue {
		find(false, "status.conditions", "the cluster is not Ready on the old control plane, which may be about to move its objects elsewhere; "+
			"make it Ready before you export, or leave it out and name the others with --cluster")
	}
	if len(member.Spec.ResourceModels) > 0 {
		find(false, "spec.resourceModels", "put them on the cluster again once it has joined, if they are not those that every cluster gets")
	}
	zones := member.Spec.Zones
	if len(zones) == 0 && member.Spec.Zone != "" {
		zones = []string{member.Spec.Zone}
	}
	c.out.Commands = append(c.out.Commands, conversion.TokenCommand(conversion.Member{
		Name: member.Name, Labels: member.Labels, Region: member.Spec.Region, Zones: zones, Provider: member.Spec.Provider,
	}))
}

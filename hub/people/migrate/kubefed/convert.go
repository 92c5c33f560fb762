package kubefed

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/hub/people/migrate/conversion"
)

// Replicas is how to convert replicas that KubeFed divides.
type Replicas string

// The values of Replicas.
const (
	// Freeze lets every cluster keep the replicas that it has.
	Freeze Replicas = "freeze"
	// Weights divides by the same weights as KubeFed, but rounds differently.
	Weights Replicas = "weights"
)

// Options are the options of a conversion.
type Options struct {
	Replicas Replicas
	// Namespaced says that KubeFed's control plane is namespaced: then the placement of a namespace does not restrict
	// what is in it.
	Namespaced bool
	// Plain uses no extensions of this hub to the shared API.
	Plain bool
}

// Convert converts KubeFed's objects among the documents.
func Convert(documents []conversion.Document, o Options) conversion.Result {
	c := &converter{
		options: o, conflict: policyv1alpha1.ConflictOverwrite,
		types: map[schema.GroupKind]target{}, namespaces: map[string]*item{}, reaches: map[string]reach{},
		preferences: map[preferenceKey]*item{}, names: map[string]int{}, needed: map[string]bool{},
	}
	byPlace := c.sorted(conversion.Flatten(documents))
	for _, kind := range []func(*item) bool{c.config, c.typeConfig, c.cluster, c.isInternal} {
		byPlace = slices.DeleteFunc(byPlace, kind)
	}
	c.finish()
	byPlace = slices.DeleteFunc(byPlace, c.preference)
	for _, i := range byPlace {
		c.namespace(i)
	}
	for _, i := range byPlace {
		c.convertItem(i)
	}
	return c.result()
}

// converter is a conversion in progress.
type converter struct {
	options  Options
	conflict policyv1alpha1.ConflictResolution

	items []*item
	// types maps a federated kind to the kind that it distributes; clusters are all clusters by name, empty if none is
	// known.
	types    map[schema.GroupKind]target
	clusters []member
	// namespaces are the FederatedNamespaces, and reaches their placements, by name.
	namespaces  map[string]*item
	reaches     map[string]reach
	preferences map[preferenceKey]*item

	// names counts policies of the same name, and needed are the namespaces of converted objects.
	names  map[string]int
	needed map[string]bool

	commands, hints                          []string
	namespaced, overrides, templates, places []*unstructured.Unstructured
}

// sorted returns the documents as items, sorted by object rather than by file. Duplicates are refused.
func (c *converter) sorted(documents []conversion.Document) []*item {
	for _, d := range documents {
		c.items = append(c.items, newItem(d))
	}
	slices.SortStableFunc(c.items, func(a, b *item) int {
		return cmp.Or(strings.Compare(a.Object.GetAPIVersion(), b.Object.GetAPIVersion()), strings.Compare(a.name, b.name), strings.Compare(a.File, b.File))
	})
	for n := 1; n < len(c.items); n++ {
		a, b := c.items[n-1], c.items[n]
		if a.Object.GetAPIVersion() == b.Object.GetAPIVersion() && a.name == b.name {
			b.refuse("metadata.name", "the object is in %s too; remove one of the two", a.File)
			a.refuse("metadata.name", "the object is in %s too; remove one of the two", b.File)
		}
	}
	return slices.Clone(c.items)
}

// convertItem converts a federated object, and reports what becomes of every other one.
func (c *converter) convertItem(i *item) {
	gvk := i.Object.GroupVersionKind()
	t, known := c.target(i)
	_, template, _ := unstructured.NestedFieldNoCopy(i.Object.Object, "spec", "template")
	switch {
	case known && t.bad != "":
		i.refuse("kind", "%s", t.bad)
	case known && i.Object.GetDeletionTimestamp() != nil:
		i.tell("metadata.deletionTimestamp", "it is being deleted, and left out")
	case known:
		c.federated(i, t)
	case gvk.Group == groupTypes, strings.HasPrefix(gvk.Kind, federatedPrefix) && template:
		i.refuse("kind", "no FederatedTypeConfig says which kind %s federates, and it is not a kind of Kubernetes; add its FederatedTypeConfig to the files", gvk.Kind)
	case strings.HasSuffix(gvk.Group, "kubefed.io"):
		i.refuse("kind", "the KubeFed kind %s has no equivalent here; leave it out", gvk.Kind)
	default:
		i.tell("", "it does not belong to KubeFed and is left as it is; apply it yourself if it should be on the hub")
	}
}

// target returns the kind that a federated object distributes, from its FederatedTypeConfig or else from the built-in
// kinds; false if it is unknown.
func (c *converter) target(i *item) (target, bool) {
	kind := i.Object.GroupVersionKind().GroupKind()
	if t, known := c.types[kind]; known {
		return t, true
	}
	name, federated := strings.CutPrefix(kind.Kind, federatedPrefix)
	t, known := builtin(name)
	if !known || !federated || kind.Group != groupTypes {
		return target{}, false
	}
	for _, other := range slices.SortedFunc(maps.Keys(c.types), compareKinds) {
		if c.types[other].gvk.GroupKind() == t.gvk.GroupKind() {
			t.bad = fmt.Sprintf("according to FederatedTypeConfig %s it is %s that federates %s, not %s; leave it out", c.types[other].by, other.Kind, t.gvk.Kind, kind.Kind)
		}
	}
	return t, true
}

func compareKinds(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) }

// isInternal says whether an object is KubeFed's own state, which can be dropped.
func (c *converter) isInternal(i *item) bool {
	gvk := i.Object.GroupVersionKind()
	_, configured := c.types[gvk.GroupKind()]
	switch {
	case configured:
		return false // a federated kind whose name ends like that
	case gvk.Group == groupCore && slices.Contains([]string{"PropagatedVersion", "ClusterPropagatedVersion", "FederatedServiceStatus"}, gvk.Kind):
	case gvk.Group == groupTypes && strings.HasPrefix(gvk.Kind, federatedPrefix) && strings.HasSuffix(gvk.Kind, "Status"):
	case gvk.Kind == "CustomResourceDefinition" && strings.HasSuffix(i.Object.GetName(), ".kubefed.io"):
	default:
		return false
	}
	i.tell("", "it is a record of KubeFed, and left out")
	return true
}

// result returns the objects in the order in which to apply them: namespaces, overrides, templates, and last the
// policies, so that overrides exist before anything is placed.
func (c *converter) result() conversion.Result {
	for _, key := range slices.SortedFunc(maps.Keys(c.preferences), preferenceKey.compare) {
		if i := c.preferences[key]; !i.refused {
			i.refuse("spec.targetKind", "there is no %s of this name; remove the preference, or add the object to the files", key.kind)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.needed)) {
		if _, federated := c.reaches[name]; (!federated || isReservedNamespace(name)) && !everyServerHas(name) {
			c.namespaced = append(c.namespaced, object("v1", "Namespace", "", name))
		}
	}
	slices.SortFunc(c.namespaced, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, list := range [][]*unstructured.Unstructured{c.overrides, c.templates, c.places} {
		// Cluster-scoped objects, such as the policies of namespaces, come first.
		slices.SortStableFunc(list, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetNamespace(), b.GetNamespace()) })
	}
	if slices.ContainsFunc(c.places, divided) {
		c.hints = append([]string{
			"Apply this when all clusters have joined: replicas are divided among the clusters that are there, and what",
			"was divided without a cluster stays where it is when that cluster joins.",
		}, c.hints...)
	}
	out := conversion.Result{Commands: c.commands, Hints: c.hints, Objects: slices.Concat(c.namespaced, c.overrides, c.templates, c.places)}
	for _, i := range c.items {
		out.Findings = append(out.Findings, i.findings...)
	}
	out.Sort()
	return out
}

// everyServerHas says whether a namespace exists on every API server.
func everyServerHas(namespace string) bool {
	return slices.Contains([]string{"default", "kube-system", "kube-public", "kube-node-lease"}, namespace)
}

// divided says whether a policy divides replicas.
func divided(p *unstructured.Unstructured) bool {
	_, has, _ := unstructured.NestedFieldNoCopy(p.Object, "spec", "placement", "replicaScheduling")
	return has
}

// uniqueName returns the name for an object's policy, unique even if objects of two kinds have the same name.
func (c *converter) uniqueName(obj *unstructured.Unstructured) string {
	name := policyName(obj)
	key := obj.GetNamespace() + "/" + name
	c.names[key]++
	if n := c.names[key]; n > 1 {
		return fmt.Sprintf("%s-%d", name, n)
	}
	return name
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetAPIVersion(apiVersion)
	out.SetKind(kind)
	if namespace != "" {
		out.SetNamespace(namespace)
	}
	out.SetName(name)
	return out
}

package revision

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/override"
	"fairlead.dev/common/prune"
)

// Content is the content of a revision. It is shared, and must not be modified once it is made.
type Content struct {
	// Main is the template of the rollout's binding.
	Main Part `json:"main"`
	// Dependents are the templates that it needs and that have no rollout of their own, sorted by their references.
	Dependents []Part `json:"dependents,omitempty"`
}

// Part is one object of a revision, for any cluster.
type Part struct {
	// Object is the template without what only the hub's copy has (see package prune), without its Origin, and with
	// one replica if it is Scaled.
	Object *unstructured.Unstructured `json:"object"`
	// Rules are the rules of override policies that select the template, in the order in which they
	// are applied.
	Rules []override.Rule `json:"rules,omitempty"`
	// Scaled says that replicas are not part of the content: each cluster has the number assigned to it at the time.
	Scaled bool `json:"scaled,omitempty"`
	// Origin is not part of the content.
	Origin Origin `json:"origin"`
}

// Origin holds facts about a template that are not part of its content: they may differ between parts that count as
// equal.
type Origin struct {
	UID             types.UID `json:"uid,omitempty"`
	Generation      int64     `json:"generation,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	// LastApplied is the annotation of `kubectl apply`, which contains the replicas.
	LastApplied string `json:"lastApplied,omitempty"`
}

// Revise returns the object with another number of replicas, without modifying it.
type Revise func(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error)

// Source holds the sources of a part. They are not modified.
type Source struct {
	// Template is the template as it was read.
	Template *unstructured.Unstructured
	// Rules are the rules of override policies that select it: override.Select(…).Rules().
	Rules []override.Rule
	// Revise sets its replicas. It is nil if the hub does not set them, because the kind has no rule for that or its
	// binding is not a workload's (bindings.IsWorkload): then the replicas are part of the content like any other
	// field.
	Revise Revise
}

// MakePart makes a part from a template.
func MakePart(s Source) (Part, error) {
	if s.Template == nil {
		return Part{}, errors.New("there is no template")
	}
	obj := s.Template
	if s.Revise != nil {
		var err error
		if obj, err = s.Revise(obj, 1); err != nil {
			return Part{}, fmt.Errorf("leaving out the replicas of %s: %w", named(s.Template), err)
		}
	}
	obj = obj.DeepCopy() // a rule copies only what it changes
	part := Part{Object: obj, Rules: s.Rules, Scaled: s.Revise != nil, Origin: Origin{
		UID: s.Template.GetUID(), Generation: s.Template.GetGeneration(), ResourceVersion: s.Template.GetResourceVersion(),
		LastApplied: s.Template.GetAnnotations()[corev1.LastAppliedConfigAnnotation],
	}}
	prune.Object(obj)
	without(obj, "annotations", corev1.LastAppliedConfigAnnotation)
	without(obj, "labels", contract.RetainReplicasLabel)
	return part, nil
}

// Make makes the content of a revision from the template of a binding and its dependencies.
func Make(main Source, dependents ...Source) (Content, error) {
	var out Content
	var err error
	if out.Main, err = MakePart(main); err != nil {
		return Content{}, err
	}
	for _, d := range dependents {
		part, err := MakePart(d)
		if err != nil {
			return Content{}, err
		}
		out.Dependents = append(out.Dependents, part)
	}
	slices.SortFunc(out.Dependents, func(a, b Part) int { return strings.Compare(a.Ref().String(), b.Ref().String()) })
	return out, nil
}

// Ref returns the hub's object that a part is about.
func (p Part) Ref() Ref {
	return Ref{
		APIVersion: p.Object.GetAPIVersion(), Kind: p.Object.GetKind(), Namespace: p.Object.GetNamespace(), Name: p.Object.GetName(),
	}
}

// Ref names an object of the hub.
type Ref struct{ APIVersion, Kind, Namespace, Name string }

// String formats the reference for people, unambiguously.
func (r Ref) String() string {
	return fmt.Sprintf("%s %s %s/%s", r.APIVersion, r.Kind, r.Namespace, r.Name)
}

// Part returns the part for an object; false if the revision has none.
func (c Content) Part(ref Ref) (Part, bool) {
	if c.Main.Object != nil && c.Main.Ref() == ref {
		return c.Main, true
	}
	for _, d := range c.Dependents {
		if d.Ref() == ref {
			return d, true
		}
	}
	return Part{}, false
}

// Leads returns whether a rollout in a namespace determines the content of an object in another namespace, or of a
// cluster-scoped one, in clusters. Users of a namespace can stop its rollouts, roll them back and read their
// revisions: that must not reach beyond the namespace. Cluster-scoped objects are shared by all namespaces, and are
// sent as they are on the hub. A cluster-scoped rollout leads all objects.
func Leads(rollout, object string) bool { return rollout == "" || rollout == object }

// Led returns the dependents that the content leads. Older hubs stored others as well, which are ignored.
func (c Content) Led() []Part {
	if c.Main.Object == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Dependents), func(d Part) bool { return !Leads(c.Main.Object.GetNamespace(), d.Object.GetNamespace()) })
}

// Hash returns the hash of the content, with which an ID names it: 32 digits. The rules by which replicas were left
// out are not hashed; to compare a stored revision with the live content, use Same.
func (c Content) Hash() (string, error) {
	h := sha256.New()
	for _, p := range append([]Part{c.Main}, c.Dependents...) {
		sum, err := p.Hash()
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(h, "%s %t\n", sum, p.Scaled) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// Hash returns the hash of a part's content. The names of policies and the indexes of their rules are not hashed.
func (p Part) Hash() (string, error) {
	rules := slices.Clone(p.Rules)
	for i := range rules {
		rules[i].Policy, rules[i].Index = "", 0
	}
	data, err := json.Marshal(struct {
		Object map[string]any
		Rules  []override.Rule
	}{p.Object.Object, rules})
	if err != nil {
		return "", fmt.Errorf("encoding %s: %w", named(p.Object), err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// Same returns whether a stored part has the content of a part made now, with the present rules for replicas; revise
// is the Source.Revise of the latter.
func (p Part) Same(now Part, revise Revise) (bool, error) {
	if p.Scaled && !now.Scaled {
		return false, nil // its replicas are not known
	}
	// An older hub may have pruned less; pruning more now is not a change of the content.
	p.Object = p.Object.DeepCopy()
	prune.Object(p.Object)
	if revise != nil {
		revised, err := revise(p.Object, 1)
		if err != nil {
			return false, fmt.Errorf("leaving out the replicas of %s: %w", named(p.Object), err)
		}
		p.Object = revised
	}
	kept, err := p.Hash()
	if err != nil {
		return false, err
	}
	live, err := now.Hash()
	return kept == live, err
}

// Same returns whether a stored content, as far as it is Led, equals one made now, with the present rules for
// replicas; revise returns the Source.Revise of an object.
func (c Content) Same(now Content, revise func(Ref) Revise) (bool, error) {
	led := c.Led()
	if c.Main.Object == nil || now.Main.Object == nil || c.Main.Ref() != now.Main.Ref() || len(led) != len(now.Dependents) {
		return false, nil
	}
	if same, err := c.Main.Same(now.Main, revise(now.Main.Ref())); err != nil || !same {
		return false, err
	}
	for i, d := range led {
		live := now.Dependents[i]
		if d.Ref() != live.Ref() {
			return false, nil
		}
		if same, err := d.Same(live, revise(live.Ref())); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// Template returns the template of a part, to be rendered; the caller may modify it.
func (p Part) Template() *unstructured.Unstructured {
	out := p.Object.DeepCopy()
	out.SetUID(p.Origin.UID)
	out.SetGeneration(p.Origin.Generation)
	out.SetResourceVersion(p.Origin.ResourceVersion)
	if p.Origin.LastApplied != "" {
		annotations := out.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[corev1.LastAppliedConfigAnnotation] = p.Origin.LastApplied
		out.SetAnnotations(annotations)
	}
	return out
}

// without removes a key from a map in the metadata, and the map if it is then empty.
func without(obj *unstructured.Unstructured, field, key string) {
	values, found, err := unstructured.NestedMap(obj.Object, "metadata", field)
	if err != nil || !found {
		return
	}
	delete(values, key)
	if len(values) == 0 {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
		return
	}
	_ = unstructured.SetNestedMap(obj.Object, values, "metadata", field) // cannot fail, since the map was read from there
}

func named(obj *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %q", obj.GetKind(), obj.GetName())
}

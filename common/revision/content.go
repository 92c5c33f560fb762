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

// Content is the content of a revision. It is shared, and must not be changed once it is made.
type Content struct {
	// Main is the template of the binding that the rollout is of.
	Main Part `json:"main"`
	// Dependents are the templates that it needs and that have no rollout of their own, sorted by
	// their references.
	Dependents []Part `json:"dependents,omitempty"`
}

// Part is one object of a revision, for any cluster.
type Part struct {
	// Object is the template without what only the hub's copy has (see package prune), without its
	// Origin, and with one replica if it is Scaled.
	Object *unstructured.Unstructured `json:"object"`
	// Rules are the rules of override policies that select the template, in the order in which they
	// are applied.
	Rules []override.Rule `json:"rules,omitempty"`
	// Scaled says that the replicas are not part of the content: each cluster has those that it is
	// to have at the time.
	Scaled bool `json:"scaled,omitempty"`
	// Origin is no part of the content.
	Origin Origin `json:"origin"`
}

// Origin has facts about a template that are not part of its content: they may differ between parts that count as the same.
type Origin struct {
	UID             types.UID `json:"uid,omitempty"`
	Generation      int64     `json:"generation,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	// LastApplied is the annotation of `kubectl apply`, which has the replicas in it.
	LastApplied string `json:"lastApplied,omitempty"`
}

// Revise returns the object with another number of replicas, and changes nothing.
type Revise func(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error)

// Source has the sources of a part. None of them is changed.
type Source struct {
	// Template as it was read.
	Template *unstructured.Unstructured
	// Rules are the rules of override policies that select it: override.Select(…).Rules().
	Rules []override.Rule
	// Revise sets its replicas. It is nil if the hub does not set them, since the kind has no rule
	// for that or its binding is not that of a workload (bindings.IsWorkload): then the replicas
	// are part of the content like any other field.
	Revise Revise
}

// MakePart makes a part of a template.
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

// Make makes the content of a revision of the template of a binding and of those that it needs.
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

// Ref says which object of the hub a part is.
func (p Part) Ref() Ref {
	return Ref{
		APIVersion: p.Object.GetAPIVersion(), Kind: p.Object.GetKind(), Namespace: p.Object.GetNamespace(), Name: p.Object.GetName(),
	}
}

// Ref names an object of the hub.
type Ref struct{ APIVersion, Kind, Namespace, Name string }

// String names it for people, and tells it from all others.
func (r Ref) String() string {
	return fmt.Sprintf("%s %s %s/%s", r.APIVersion, r.Kind, r.Namespace, r.Name)
}

// Part returns the part that is an object; false if the revision has nothing of it.
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

// Leads says whether a rollout in a namespace says which content an object in another one, or in none, has in clusters.
// People of a namespace stop its rollouts, take them back and read what these keep: that reaches no further than the
// namespace. What is cluster-scoped belongs to all of them, and is as it is on the hub. A rollout in no namespace leads all.
func Leads(rollout, object string) bool { return rollout == "" || rollout == object }

// Led returns the dependents that the content leads. A hub of before kept others, too, and nobody gets these.
func (c Content) Led() []Part {
	if c.Main.Object == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Dependents), func(d Part) bool { return !Leads(c.Main.Object.GetNamespace(), d.Object.GetNamespace()) })
}

// Hash returns the hash of the content, by which an ID names it: 32 digits. The rules by which replicas
// were left out are not in the hash; to compare a kept revision with what is live, use Same.
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

// Hash returns the hash of the content of a part. The names of policies and the places of rules in them
// are not in it.
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

// Same says whether a part that was kept has the content of one that was made now, with the
// rules of now for replicas; revise is the Source.Revise of the latter.
func (p Part) Same(now Part, revise Revise) (bool, error) {
	if p.Scaled && !now.Scaled {
		return false, nil // its replicas are not known
	}
	// A hub of before may have left less out; that it leaves out more now changes no content.
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

// Same says whether a content that was kept, as far as it is Led, is that of one that was made now, with the rules of
// now for replicas; revise returns the Source.Revise of an object.
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

// Template returns the template of a part as it was, to be rendered; it may be changed at will.
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

// without removes a key of a map in the metadata, and the map if nothing is left.
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
	_ = unstructured.SetNestedMap(obj.Object, values, "metadata", field) // it is where it was read
}

func named(obj *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %q", obj.GetKind(), obj.GetName())
}

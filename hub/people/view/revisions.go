package view

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/people/view/diff"
)

// Kept reads the content of a revision. It is stored in a Secret, which not everybody may read who may read the
// rollout. The rules of ClusterOverridePolicies are in another Secret, for operators of the hub: for others the result
// is Unshown.
func (r *Reader) Kept(ctx context.Context, ro fairleadv1alpha1.Rollout, number int64) (*revision.Kept, error) {
	revisions := ro.RolloutStatus().Revisions
	id := revision.Of(revisions, number)
	if id.Zero() {
		var kept []string
		for _, one := range revisions {
			kept = append(kept, fmt.Sprint(one.Number))
		}
		return nil, fmt.Errorf("r%d is not kept; the kept revisions are %s", number, strings.Join(kept, ", "))
	}
	return kube.ReadShownRevision(ctx, r.hub, ro, id)
}

// Revision is the content of a revision for people.
type Revision struct {
	Number int64 `json:"number,omitempty"`
	// Note says what is not shown to the person.
	Note string `json:"note,omitempty"`
	// Objects are the template and its dependencies, with secrets masked.
	Objects []map[string]any `json:"objects"`
	// Rules are the overrides, by object.
	Rules []Rules `json:"overrides,omitempty"`
}

// Rules are the overrides of one object.
type Rules struct {
	Object string          `json:"object"`
	Rules  []override.Rule `json:"rules"`
}

// NotShown is the Note of a revision that the person may not read completely.
const NotShown = "It has rules of ClusterOverridePolicies, which you may not read and which are not shown. Without them it cannot be checked " +
	"whether the rest is what the hub kept."

// ContentOf returns the content of a stored revision for people.
func ContentOf(number int64, k *revision.Kept, mask diff.Mask) Revision {
	out := Revision{Number: number}
	if k.Unshown {
		out.Note = NotShown
	}
	for _, part := range append([]revision.Part{k.Main}, k.Dependents...) {
		out.Objects = append(out.Objects, mask.Object(part.Object.Object))
		if len(part.Rules) > 0 {
			ref := part.Ref()
			out.Rules = append(out.Rules, Rules{Object: Object{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}.String(), Rules: part.Rules})
		}
	}
	return out
}

// Edited says whether the template of a rollout has changed and the hub has not made a revision of the change yet. What
// the person may not read does not count as a change.
func (r *Reader) Edited(ctx context.Context, s *Staged) (bool, error) {
	resource := &s.Of.BindingSpec().Resource
	template, err := r.Template(ctx, Ref{GroupVersionKind: schema.FromAPIVersionAndKind(resource.APIVersion, resource.Kind), Namespace: resource.Namespace, Name: resource.Name})
	if err != nil {
		return false, client.IgnoreNotFound(ignoreForbidden(err))
	}
	return r.edited(ctx, template, s.Of, s.Object)
}

// edited says whether a template, or an override policy for it, has changed since the newest revision that was made of
// an edit. What may not be read does not count as a change.
func (r *Reader) edited(ctx context.Context, template *unstructured.Unstructured, b kube.Binding, ro kube.Rollout) (bool, error) {
	newest := revision.NewestEdit(ro.RolloutStatus().Revisions)
	if newest.Zero() {
		return false, nil
	}
	kept, err := kube.ReadRevision(ctx, r.hub, ro, newest)
	if err != nil {
		return false, client.IgnoreNotFound(ignoreForbidden(err))
	}
	one, err := r.renderer(ctx, template, b)
	if err != nil {
		return false, err
	}
	same, err := kept.Main.Same(one.part, one.scaling)
	return !same, err
}

func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

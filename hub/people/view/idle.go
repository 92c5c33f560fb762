package view

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/view/applications"
)

// WhyIdle says in sentences why a policy has nothing, by looking for what it selects. It needs
// a client that reads live.
func (r *Reader) WhyIdle(ctx context.Context, p policyv1alpha1.Policy) ([]string, error) {
	var out []string
	for i := range p.PropagationSpec().ResourceSelectors {
		said, err := r.explainSelector(ctx, p, &p.PropagationSpec().ResourceSelectors[i])
		if err != nil {
			return nil, err
		}
		out = append(out, said)
	}
	return out, nil
}

// explainSelector says what becomes of one selector.
func (r *Reader) explainSelector(ctx context.Context, p policyv1alpha1.Policy, s *policyv1alpha1.ResourceSelector) (string, error) {
	kind := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
	namespace := s.Namespace
	if p.GetNamespace() != "" {
		if namespace != "" && namespace != p.GetNamespace() {
			return fmt.Sprintf("It selects a %s in namespace %s, and can have those of its own namespace %s only.", s.Kind, namespace, p.GetNamespace()), nil
		}
		namespace = p.GetNamespace()
	}
	where := ""
	if namespace != "" {
		where = " in namespace " + namespace
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	opts := []client.ListOption{client.InNamespace(namespace)}
	switch {
	case s.Name != "":
		opts = append(opts, client.MatchingFields{"metadata.name": s.Name})
	case s.LabelSelector != nil:
		selector, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
		if err != nil {
			return "", fmt.Errorf("reading the label selector of %s: %w", applications.KeyOf(p).Name, err)
		}
		opts = append(opts, client.MatchingLabelsSelector{Selector: selector})
	}
	err := r.hub.List(ctx, list, opts...)
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return fmt.Sprintf("The hub knows no kind %s of %s: install its definition on the hub.", s.Kind, s.APIVersion), nil
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("You may not read %s%s, and so cannot be told.", s.Kind, where), nil
	case err != nil:
		return "", fmt.Errorf("listing %s of %s: %w", s.Kind, s.APIVersion, err)
	}
	if len(list.Items) > 0 {
		object := &list.Items[0]
		if by := applications.PolicyOf(object); by.Name != "" && by != applications.KeyOf(p) {
			return fmt.Sprintf("%s %s belongs to %s %s; `hub explain` says why.", s.Kind, object.Name, by.Kind, strings.TrimPrefix(by.Namespace+"/"+by.Name, "/")), nil
		}
		return fmt.Sprintf("%s %s is there and was not taken yet; `hub explain` says why.", s.Kind, object.Name), nil
	}
	what := s.Kind
	switch {
	case s.Name != "":
		what += " " + s.Name
	case s.LabelSelector != nil:
		what += " with " + metav1.FormatLabelSelector(s.LabelSelector)
	}
	return fmt.Sprintf("There is no %s%s on the hub.", what, where), nil
}

// IdlePolicies says of policies that have nothing why that is so, in their remark: of so many
// at most, since each is looked after.
func (r *Reader) IdlePolicies(ctx context.Context, policies []applications.Policy, most int) ([]applications.Policy, error) {
	var out []applications.Policy
	for _, row := range policies {
		if row.Has > 0 {
			continue
		}
		if len(out) == most {
			break
		}
		p, err := kube.PolicyNamed(ctx, r.hub, row.Namespace, row.Name)
		if err != nil {
			return nil, err
		}
		if p != nil && p.GetDeletionTimestamp() == nil {
			why, err := r.WhyIdle(ctx, p)
			if err != nil {
				return nil, err
			}
			row.Remark = "It has nothing. " + strings.Join(why, " ")
		}
		out = append(out, row)
	}
	return out, nil
}

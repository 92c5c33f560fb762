package view

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/people/view/applications"
)

// WhyIdle says in sentences why a policy matches nothing, by listing what it selects. It needs a client that reads
// live.
func (r *Reader) WhyIdle(ctx context.Context, p policyv1alpha1.Policy) ([]string, error) {
	excluded, err := r.exclusions(ctx)
	if err != nil {
		return nil, err
	}
	return r.whyIdle(ctx, excluded, p)
}

// whyIdle is WhyIdle with the exclusions given.
func (r *Reader) whyIdle(ctx context.Context, excluded *selector.Exclusions, p policyv1alpha1.Policy) ([]string, error) {
	var out []string
	if excluded != nil && p.GetNamespace() != "" {
		if why := excluded.WhyNamespace(p.GetNamespace()); why != "" {
			return []string{fmt.Sprintf("Nothing of its namespace is propagated: %s.", why)}, nil
		}
	}
	for i := range p.PropagationSpec().ResourceSelectors {
		sentence, err := r.explainSelector(ctx, excluded, p, &p.PropagationSpec().ResourceSelectors[i])
		if err != nil {
			return nil, err
		}
		out = append(out, sentence)
	}
	return out, nil
}

// explainSelector says what one selector matches.
func (r *Reader) explainSelector(
	ctx context.Context, excluded *selector.Exclusions, p policyv1alpha1.Policy, s *policyv1alpha1.ResourceSelector,
) (string, error) {
	kind := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
	if excluded != nil {
		if why := excluded.WhyKind(kind); why != "" {
			return fmt.Sprintf("It selects a kind that stays on the hub: %s.", why), nil
		}
	}
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
		labels, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
		if err != nil {
			return "", fmt.Errorf("reading the label selector of %s: %w", applications.KeyOf(p).Name, err)
		}
		opts = append(opts, client.MatchingLabelsSelector{Selector: labels})
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
		return explainFound(excluded, p, kind, list.Items), nil
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

// explainFound says why a policy does not apply to the objects that it selects.
func explainFound(excluded *selector.Exclusions, p policyv1alpha1.Policy, kind schema.GroupVersionKind, found []metav1.PartialObjectMetadata) string {
	goes := slices.IndexFunc(found, func(o metav1.PartialObjectMetadata) bool { return whyStays(excluded, kind, &o) == "" })
	if goes < 0 {
		return fmt.Sprintf("%s %s is there and stays on the hub: %s.", kind.Kind, found[0].Name, whyStays(excluded, kind, &found[0]))
	}
	object := &found[goes]
	if by := applications.PolicyOf(object); by.Name != "" && by != applications.KeyOf(p) {
		return fmt.Sprintf("%s %s belongs to %s %s; `hub explain` says why.", kind.Kind, object.Name, by.Kind, strings.TrimPrefix(by.Namespace+"/"+by.Name, "/"))
	}
	return fmt.Sprintf("%s %s is there and was not taken yet; `hub explain` says why.", kind.Kind, object.Name)
}

// IdlePolicies sets the remarks of policies that match nothing, for at most that many, since each needs requests.
func (r *Reader) IdlePolicies(ctx context.Context, policies []applications.Policy, most int) ([]applications.Policy, error) {
	var out []applications.Policy
	exclusions := sync.OnceValues(func() (*selector.Exclusions, error) { return r.exclusions(ctx) })
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
			excluded, err := exclusions()
			if err != nil {
				return nil, err
			}
			why, err := r.whyIdle(ctx, excluded, p)
			if err != nil {
				return nil, err
			}
			row.Remark = "It has no objects. " + strings.Join(why, " ")
		}
		out = append(out, row)
	}
	return out, nil
}

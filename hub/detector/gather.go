package detector

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/detector/claim"
	"fairlead.dev/hub/detector/match"
)

// Kinds of policies.
const (
	propagationPolicy        = "PropagationPolicy"
	clusterPropagationPolicy = "ClusterPropagationPolicy"
)

func isPolicy(kind schema.GroupVersionKind) bool {
	return kind == policyKind(true) || kind == policyKind(false)
}

func policyKind(clusterWide bool) schema.GroupVersionKind {
	if clusterWide {
		return policyv1alpha1.GroupVersion.WithKind(clusterPropagationPolicy)
	}
	return policyv1alpha1.GroupVersion.WithKind(propagationPolicy)
}

// policyRequest names a policy.
func policyRequest(p metav1.Object) request {
	return requestFor(policyKind(p.GetNamespace() == ""), p)
}

// templateOf names the template of a binding.
func templateOf(b workv1alpha2.Binding) request {
	ref := b.BindingSpec().Resource
	return request{
		Kind:      schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind),
		Namespace: ref.Namespace,
		Name:      ref.Name,
	}
}

func targetOf(t *metav1.PartialObjectMetadata) selector.Target {
	return selector.Target{
		APIVersion: t.APIVersion, Kind: t.Kind,
		Namespace: t.Namespace, Name: t.Name, Labels: t.Labels,
	}
}

// policy returns the policy of a name, to be changed at will; nil if there is none.
func (r *Reconciler) policy(ctx context.Context, namespace, name string) (policyv1alpha1.Policy, error) {
	var p interface {
		client.Object
		policyv1alpha1.Policy
	} = &policyv1alpha1.PropagationPolicy{}
	if namespace == "" {
		p = &policyv1alpha1.ClusterPropagationPolicy{}
	}
	err := r.hubClient.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, p)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading policy %q: %w", name, err)
	}
	return p, nil
}

// listPolicies returns the policies of one kind, not to be changed.
func (r *Reconciler) listPolicies(ctx context.Context, clusterWide bool, opts ...client.ListOption) ([]policyv1alpha1.Policy, error) {
	opts = append(opts, client.UnsafeDisableDeepCopy)
	var out []policyv1alpha1.Policy
	if clusterWide {
		var list policyv1alpha1.ClusterPropagationPolicyList
		if err := r.hubClient.List(ctx, &list, opts...); err != nil {
			return nil, fmt.Errorf("listing ClusterPropagationPolicies: %w", err)
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
		return out, nil
	}
	var list policyv1alpha1.PropagationPolicyList
	if err := r.hubClient.List(ctx, &list, opts...); err != nil {
		return nil, fmt.Errorf("listing PropagationPolicies: %w", err)
	}
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

// policyOf returns the policy that a template is to have: the one that has it, as
// long as it is there and selects it, unless another one takes it; else the best of its
// namespace; else the best of all. It is nil if there is none. The policy that it is
// taken from is returned beside it.
func (r *Reconciler) policyOf(ctx context.Context, t *metav1.PartialObjectMetadata) (p, victim policyv1alpha1.Policy, err error) {
	target := targetOf(t)
	if c, ok := claim.On(t); ok {
		holder, err := r.policy(ctx, c.Namespace, c.Name)
		if err != nil {
			return nil, nil, err
		}
		if holder != nil && holder.GetDeletionTimestamp() == nil && match.Selects(holder, target) {
			p, err := r.preemptor(ctx, target, holder)
			if p != nil || err != nil {
				return p, holder, err
			}
			return holder, nil, nil
		}
	}
	if t.DeletionTimestamp != nil {
		return nil, nil, nil
	}
	if t.Namespace != "" {
		candidates, err := r.candidates(ctx, target, false)
		if err != nil {
			return nil, nil, err
		}
		if p := match.Best(candidates, target); p != nil {
			return p, nil, nil
		}
	}
	candidates, err := r.candidates(ctx, target, true)
	return match.Best(candidates, target), nil, err
}

// preemptor returns the policy that takes a template from the one that has it.
func (r *Reconciler) preemptor(ctx context.Context, target selector.Target, holder policyv1alpha1.Policy) (policyv1alpha1.Policy, error) {
	var policies []policyv1alpha1.Policy
	for _, clusterWide := range []bool{false, true} {
		if clusterWide && holder.GetNamespace() != "" || !clusterWide && target.Namespace == "" {
			continue // none of them could
		}
		found, err := r.candidates(ctx, target, clusterWide)
		if err != nil {
			return nil, err
		}
		policies = append(policies, found...)
	}
	return match.Preemptor(holder, policies, target), nil
}

// candidates returns the policies of one kind that may select a template, not to be
// changed.
func (r *Reconciler) candidates(ctx context.Context, target selector.Target, clusterWide bool) ([]policyv1alpha1.Policy, error) {
	namespace := target.Namespace
	if clusterWide {
		namespace = ""
	}
	kind := schema.FromAPIVersionAndKind(target.APIVersion, target.Kind)
	var candidates []policyv1alpha1.Policy
	for _, name := range []string{target.Name, ""} {
		found, err := r.listPolicies(ctx, clusterWide,
			client.InNamespace(namespace), client.MatchingFields{selectsIndex: selectsName(kind, name)})
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, found...)
	}
	return candidates, nil
}

// dependencies returns errWaiting if an override policy that a policy depends on does
// not exist.
func (r *Reconciler) dependencies(ctx context.Context, p policyv1alpha1.Policy) error {
	kind := "OverridePolicy"
	if p.GetNamespace() == "" {
		kind = "ClusterOverridePolicy"
	}
	for _, name := range p.PropagationSpec().DependentOverrides {
		var override client.Object = &policyv1alpha1.OverridePolicy{}
		if p.GetNamespace() == "" {
			override = &policyv1alpha1.ClusterOverridePolicy{}
		}
		err := r.hubClient.Get(ctx, types.NamespacedName{Namespace: p.GetNamespace(), Name: name}, override)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%w: create %s %q, or remove it from dependentOverrides of the policy", errWaiting, kind, name)
		case err != nil:
			return fmt.Errorf("reading %s %q: %w", kind, name, err)
		}
	}
	return nil
}

// bindingOf returns the binding of a template, to be changed at will, and whether
// there is one.
func (r *Reconciler) bindingOf(ctx context.Context, t *metav1.PartialObjectMetadata) (kube.Binding, bool, error) {
	key := types.NamespacedName{Namespace: t.Namespace, Name: contract.BindingName(t.Kind, t.Name)}
	b := bindingKind(t).New()
	err := r.hubClient.Get(ctx, key, b)
	if client.IgnoreNotFound(err) != nil {
		return nil, false, fmt.Errorf("reading binding %q: %w", key.Name, err)
	}
	b, ok := r.bindings.Latest(key, b, err == nil)
	return b, ok, nil
}

func bindingKind(t *metav1.PartialObjectMetadata) kube.BindingKind {
	if t.Namespace == "" {
		return kube.ClusterResourceBindings()
	}
	return kube.ResourceBindings()
}

// whole reads a template from the API server; nil if it is not there any more, or is
// another of the same name.
func (r *Reconciler) whole(ctx context.Context, t *metav1.PartialObjectMetadata) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(t.GroupVersionKind())
	err := r.liveReader.Get(ctx, client.ObjectKeyFromObject(t), u)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", t.Kind, t.Name, err)
	case u.GetUID() != t.UID:
		return nil, nil
	}
	return u, nil
}

// priority returns the value of the PriorityClass that a policy names; nil if it names
// none. The value of a PriorityClass never changes.
func (r *Reconciler) priority(ctx context.Context, p policyv1alpha1.Policy) (*int32, error) {
	named := p.PropagationSpec().SchedulePriority
	if named == nil {
		return nil, nil
	}
	class := &unstructured.Unstructured{}
	class.SetGroupVersionKind(schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"})
	err := r.liveReader.Get(ctx, types.NamespacedName{Name: named.PriorityClassName}, class)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("the hub has no PriorityClass %q: create it, or correct spec.schedulePriority of the policy", named.PriorityClassName)
	case err != nil:
		return nil, fmt.Errorf("reading PriorityClass %q: %w", named.PriorityClassName, err)
	}
	value, _, err := unstructured.NestedInt64(class.Object, "value")
	if err != nil {
		return nil, fmt.Errorf("reading PriorityClass %q: %w", named.PriorityClassName, err)
	}
	return new(int32(value)), nil
}

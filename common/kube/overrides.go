package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/override"
)

// OverridePolicies returns the override policies whose selectors, without labels, match an object, given by the
// reference: labels are evaluated by override.Select. They must not be changed. From a cache with the indexes of
// Index, this takes time in proportion to the result; from any other reader all ClusterOverridePolicies and those
// OverridePolicies in the object's namespace are read.
func OverridePolicies(ctx context.Context, r client.Reader, of *workv1alpha2.ObjectReference) (override.Policies, error) {
	var out override.Policies
	var wide policyv1alpha1.ClusterOverridePolicyList
	ofCluster, err := selecting(ctx, r, &policyv1alpha1.ClusterOverridePolicy{}, "", of, func(opts ...client.ListOption) ([]*policyv1alpha1.ClusterOverridePolicy, error) {
		return listShared(ctx, r, &wide, &wide.Items, func(p *policyv1alpha1.ClusterOverridePolicy) *policyv1alpha1.ClusterOverridePolicy { return p }, opts...)
	})
	if err != nil {
		return out, fmt.Errorf("listing cluster override policies: %w", err)
	}
	for _, p := range ofCluster {
		out.Cluster = append(out.Cluster, *p)
	}
	if of.Namespace == "" {
		return out, nil
	}
	var near policyv1alpha1.OverridePolicyList
	ofNamespace, err := selecting(ctx, r, &policyv1alpha1.OverridePolicy{}, of.Namespace, of, func(opts ...client.ListOption) ([]*policyv1alpha1.OverridePolicy, error) {
		return listShared(ctx, r, &near, &near.Items, func(p *policyv1alpha1.OverridePolicy) *policyv1alpha1.OverridePolicy { return p }, opts...)
	})
	if err != nil {
		return out, fmt.Errorf("listing override policies: %w", err)
	}
	for _, p := range ofNamespace {
		out.Namespaced = append(out.Namespaced, *p)
	}
	return out, nil
}

// selecting returns the override policies of a kind in a namespace that match an object. list lists them for readers
// without the index.
func selecting[P interface {
	comparable
	client.Object
}](
	ctx context.Context, r client.Reader, kind P, namespace string, of *workv1alpha2.ObjectReference, list func(...client.ListOption) ([]P, error),
) ([]P, error) {
	for before := sets.Set[P](nil); ; {
		found, ok := underAny(ctx, r, kind, selections(namespace, of))
		if !ok {
			all, err := list(client.InNamespace(namespace))
			return slices.DeleteFunc(all, func(p P) bool { return !IsAbout(p, of) }), err
		}
		// A policy that is edited between reads of two values is found twice, or not at all. Two equal results in a
		// row are consistent.
		if before != nil && found.Equal(before) {
			return found.UnsortedList(), nil
		}
		before = found
	}
}

// underAny returns the override policies with any of some index values; false if there is no index.
func underAny[P interface {
	comparable
	client.Object
}](ctx context.Context, r client.Reader, kind P, values []string) (sets.Set[P], bool) {
	out := sets.Set[P]{}
	for _, value := range values {
		found, ok := underIndex(ctx, r, kind, overridesBySelection, value)
		if !ok {
			return nil, false
		}
		for _, item := range found {
			if p, ok := item.(P); ok {
				out.Insert(p)
			}
		}
	}
	return out, true
}

// IsAbout returns whether the selectors of an override policy, without labels, match an object.
func IsAbout(policy client.Object, of *workv1alpha2.ObjectReference) bool {
	selectors := selectorsOf(policy)
	return (policy.GetNamespace() == "" || policy.GetNamespace() == of.Namespace) &&
		(len(selectors) == 0 || slices.ContainsFunc(selectors, func(s policyv1alpha1.ResourceSelector) bool {
			return s.APIVersion == of.APIVersion && s.Kind == of.Kind && (s.Namespace == "" || s.Namespace == of.Namespace) && (s.Name == "" || s.Name == of.Name)
		}))
}

func selectorsOf(policy client.Object) []policyv1alpha1.ResourceSelector {
	switch p := policy.(type) {
	case *policyv1alpha1.OverridePolicy:
		return p.Spec.ResourceSelectors
	case *policyv1alpha1.ClusterOverridePolicy:
		return p.Spec.ResourceSelectors
	default:
		return nil
	}
}

// anything stands for the selectors of a policy that has none.
const anything = "*"

// selectionsOf returns the selectors of an override policy as index values: the kind, and the namespace and name if
// given.
func selectionsOf(policy client.Object) []string {
	selectors := selectorsOf(policy)
	if len(selectors) == 0 {
		return []string{selection(policy.GetNamespace(), anything, "", types.NamespacedName{})}
	}
	out := sets.Set[string]{}
	for i := range selectors {
		s := &selectors[i]
		out.Insert(selection(policy.GetNamespace(), s.APIVersion, s.Kind, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}))
	}
	return out.UnsortedList()
}

// selections returns the index values of the policies in a namespace that match an object.
func selections(namespace string, of *workv1alpha2.ObjectReference) []string {
	out := []string{selection(namespace, anything, "", types.NamespacedName{})}
	for _, name := range []types.NamespacedName{{}, {Namespace: of.Namespace}, {Name: of.Name}, {Namespace: of.Namespace, Name: of.Name}} {
		if value := selection(namespace, of.APIVersion, of.Kind, name); !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	return out
}

// selection returns an index value for override policies: policies in policyNamespace that select objects of a kind;
// an empty namespace or name of the objects means any.
func selection(policyNamespace, apiVersion, kind string, of types.NamespacedName) string {
	return strings.Join([]string{policyNamespace, apiVersion, kind, of.Namespace, of.Name}, " ")
}

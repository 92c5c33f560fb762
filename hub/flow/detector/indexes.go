package detector

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/claim"
)

// Indexes of the cache.
const (
	// selectsIndex finds policies by a kind, a name or a label that they select; see selectsKind, selectsName and selectsLabel.
	selectsIndex = "detector-selects"
	// claimIndex finds bindings, and templates in the stores of their kinds, by the policy that has them.
	claimIndex = "detector-claim"
	// kindIndex finds claimed bindings by the kind of their template.
	kindIndex = "detector-kind"
)

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	selects := func(obj client.Object) []string {
		p, ok := obj.(policyv1alpha1.Policy)
		if !ok {
			return nil
		}
		var keys []string
		for _, s := range p.PropagationSpec().ResourceSelectors {
			kind := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
			keys = append(keys, selectsKind(kind), selectsKey(kind, s))
		}
		slices.Sort(keys)
		return slices.Compact(keys)
	}
	bindingClaim := func(obj client.Object) []string {
		if c, ok := claim.On(obj); ok && obj.GetDeletionTimestamp() == nil {
			return []string{c.Key()}
		}
		return nil
	}
	kindOf := func(obj client.Object) []string {
		b, ok := obj.(workv1alpha2.Binding)
		if !ok || !claimed(b) {
			return nil
		}
		return []string{selectsKind(templateOf(b).Kind)}
	}
	for _, index := range []struct {
		obj   client.Object
		field string
		value client.IndexerFunc
	}{
		{&policyv1alpha1.PropagationPolicy{}, selectsIndex, selects},
		{&policyv1alpha1.ClusterPropagationPolicy{}, selectsIndex, selects},
		{&workv1alpha2.ResourceBinding{}, claimIndex, bindingClaim},
		{&workv1alpha2.ClusterResourceBinding{}, claimIndex, bindingClaim},
		{&workv1alpha2.ResourceBinding{}, kindIndex, kindOf},
		{&workv1alpha2.ClusterResourceBinding{}, kindIndex, kindOf},
	} {
		if err := indexer.IndexField(ctx, index.obj, index.field, index.value); err != nil {
			return fmt.Errorf("indexing %T by %q: %w", index.obj, index.field, err)
		}
	}
	return nil
}

// selectsKind is the value of selectsIndex for policies that select a kind.
func selectsKind(kind schema.GroupVersionKind) string {
	return kind.GroupVersion().String() + "," + kind.Kind
}

// selectsName is the value of selectsIndex for policies that select a template by name. An empty name is for those that select without a
// name.
func selectsName(kind schema.GroupVersionKind, name string) string {
	return selectsKind(kind) + "," + name
}

// selectsLabel is the value of selectsIndex for policies that select by labels, of which every selected template must have this one.
func selectsLabel(kind schema.GroupVersionKind, key, value string) string {
	return selectsKind(kind) + "," + key + "=" + value // names do not contain commas
}

// selectsKey is the value of selectsIndex for a selector: a property that every template that it selects has.
func selectsKey(kind schema.GroupVersionKind, s policyv1alpha1.ResourceSelector) string {
	if s.Name == "" && s.LabelSelector != nil && len(s.LabelSelector.MatchLabels) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(s.LabelSelector.MatchLabels)))
		return selectsLabel(kind, first, s.LabelSelector.MatchLabels[first])
	}
	return selectsName(kind, s.Name)
}

// selectedBy returns the values of selectsIndex of all policies that may select a template.
func selectedBy(target selector.Target) []string {
	kind := schema.FromAPIVersionAndKind(target.APIVersion, target.Kind)
	out := []string{selectsName(kind, target.Name), selectsName(kind, "")}
	for key, value := range target.Labels {
		out = append(out, selectsLabel(kind, key, value))
	}
	return out
}

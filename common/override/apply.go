package override

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/selector"
)

// Result is the object for one cluster, and the rules that shaped it.
type Result struct {
	// Object is the object after all overrides.
	Object *unstructured.Unstructured
	// Cluster and Namespaced are the rules that apply to the cluster, for each of the two kinds of policies, sorted
	// by the name of the policy.
	Cluster    []Applied
	Namespaced []Applied
}

// Apply returns what a cluster gets of an object. It modifies neither. The error names the policy, its rule and the
// path that cannot be applied.
func Apply(obj *unstructured.Unstructured, cluster *clusterv1alpha1.Cluster, policies Policies) (Result, error) {
	plan := Select(policies, selector.TargetOf(obj))
	if plan.Empty() {
		return Result{Object: obj}, nil
	}
	return plan.Apply(obj.DeepCopy(), cluster)
}

// Apply is the function Apply for a template whose policies were selected before, which serves any number of
// clusters. It modifies obj in place; after an error obj is unusable.
func (p Plan) Apply(obj *unstructured.Unstructured, cluster *clusterv1alpha1.Cluster) (Result, error) {
	if p.Empty() {
		return Result{Object: obj}, nil
	}
	if cluster == nil {
		return Result{}, errors.New("override policies apply, but the Cluster is not known: check that it still exists")
	}
	out := Result{Object: obj}
	steps := &budget{left: maxSteps}
	var err error
	if out.Cluster, err = run(p.cluster, identity(), obj, cluster, steps); err != nil {
		return Result{}, err
	}
	if out.Namespaced, err = run(p.namespaced, append(identity(), grant(obj.GroupVersionKind())...), obj, cluster, steps); err != nil {
		return Result{}, err
	}
	return out, nil
}

// run applies rules, none of which may change the fixed fields.
func run(list []step, fixed []field, obj *unstructured.Unstructured, cluster *clusterv1alpha1.Cluster, steps *budget) ([]Applied, error) {
	if len(list) == 0 {
		return nil, nil
	}
	before := remember(obj, fixed)
	compared := nodes(before)
	var out []Applied
	for i := range list {
		s := &list[i]
		if s.matcherErr != nil {
			return nil, fmt.Errorf("%s: targetCluster is invalid, correct it: %w", s, s.matcherErr)
		}
		if !s.matcher.Matches(cluster) {
			continue
		}
		had, err := s.apply(obj, fixed, before, 1+compared/fixedInStep, steps)
		if err != nil {
			return nil, fmt.Errorf("%s for cluster %q: %w", s, cluster.Name, err)
		}
		out = append(out, Applied{
			PolicyName: s.policy.name, Overriders: *s.overriders, WithoutEffect: had.sentences(), Ineffective: had.of == had.without,
		})
	}
	slices.SortStableFunc(out, func(a, b Applied) int { return cmp.Compare(a.PolicyName, b.PolicyName) })
	return out, nil
}

// apply applies the rule, which costs this many steps in addition to those of its overriders, and may not change the
// fixed fields.
func (s *step) apply(obj *unstructured.Unstructured, fixed []field, before []any, cost int, steps *budget) (effects, error) {
	if err := steps.spend(cost); err != nil {
		return effects{}, err
	}
	values, err := s.decoded()
	if err != nil {
		return effects{}, err
	}
	had, err := applyAll(obj, s.overriders, values, steps)
	if err == nil && values.mayChange(fixed) {
		err = unchanged(obj, fixed, before)
	}
	return had, err
}

// String formats the rule for errors.
func (s *step) String() string {
	name := s.policy.name
	if s.policy.namespace != "" {
		name = s.policy.namespace + "/" + name
	}
	if s.index < 0 {
		return fmt.Sprintf("applying %s %q", s.policy.kind, name)
	}
	return fmt.Sprintf("applying overrideRules[%d] of %s %q", s.index, s.policy.kind, name)
}

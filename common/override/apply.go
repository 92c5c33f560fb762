package override

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/selector"
)

// Result is what one cluster gets, and why.
type Result struct {
	// Object is the object with all that applies.
	Object *unstructured.Unstructured
	// Cluster and Namespaced are the rules that were applied, of policies of each of
	// the two kinds, sorted by the name of the policy.
	Cluster    []Applied
	Namespaced []Applied
}

// Applied is one rule that was applied.
type Applied struct {
	// PolicyName is the name of its policy.
	PolicyName string `json:"policyName"`
	// Overriders are those of the rule.
	Overriders policyv1alpha1.Overriders `json:"overriders"`
}

// Apply returns what a cluster gets of an object. It changes neither. The error names
// the policy, its rule and the path in it that cannot be applied.
func Apply(obj *unstructured.Unstructured, cluster *clusterv1alpha1.Cluster, policies Policies) (Result, error) {
	plan := Select(policies, selector.TargetOf(obj))
	if plan.Empty() {
		return Result{Object: obj}, nil
	}
	return plan.Apply(obj.DeepCopy(), cluster)
}

// Apply is the function of this name for a template whose policies were selected
// before, which is good for any number of clusters. It owns obj and changes it in
// place; after an error obj is of no use.
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

// Annotations returns the annotations by which a Work says what was applied.
func (r Result) Annotations() (map[string]string, error) {
	out := map[string]string{}
	for key, applied := range map[string][]Applied{
		contract.AppliedClusterOverridesAnnotation: r.Cluster,
		contract.AppliedOverridesAnnotation:        r.Namespaced,
	} {
		if len(applied) == 0 {
			continue
		}
		value, err := json.Marshal(applied)
		if err != nil {
			return nil, fmt.Errorf("encoding the annotation %s: %w", key, err)
		}
		out[key] = string(value)
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
		err := steps.spend(1 + compared/fixedInStep)
		if err == nil {
			err = applyAll(obj, s.overriders, steps)
		}
		if err == nil {
			err = unchanged(obj, fixed, before)
		}
		if err != nil {
			return nil, fmt.Errorf("%s for cluster %q: %w", s, cluster.Name, err)
		}
		out = append(out, Applied{PolicyName: s.policy.name, Overriders: *s.overriders})
	}
	slices.SortStableFunc(out, func(a, b Applied) int { return cmp.Compare(a.PolicyName, b.PolicyName) })
	return out, nil
}

// String names the rule in errors.
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

// applyAll applies the overriders of one rule in their order.
func applyAll(obj *unstructured.Unstructured, o *policyv1alpha1.Overriders, steps *budget) error {
	if err := bounded(o); err != nil {
		return err
	}
	for i := range o.ImageOverrider {
		if err := applyImage(obj, &o.ImageOverrider[i], steps); err != nil {
			return fmt.Errorf("imageOverrider[%d]: %w", i, err)
		}
	}
	for i := range o.CommandOverrider {
		if err := applyList(obj, "command", &o.CommandOverrider[i], steps); err != nil {
			return fmt.Errorf("commandOverrider[%d]: %w", i, err)
		}
	}
	for i := range o.ArgsOverrider {
		if err := applyList(obj, "args", &o.ArgsOverrider[i], steps); err != nil {
			return fmt.Errorf("argsOverrider[%d]: %w", i, err)
		}
	}
	for i := range o.LabelsOverrider {
		applyMetadata(obj, "labels", &o.LabelsOverrider[i])
	}
	for i := range o.AnnotationsOverrider {
		applyMetadata(obj, "annotations", &o.AnnotationsOverrider[i])
	}
	for i := range o.FieldOverrider {
		if err := applyField(obj, &o.FieldOverrider[i], steps); err != nil {
			return fmt.Errorf("fieldOverrider[%d]: %w", i, err)
		}
	}
	return applyPlaintext(obj, o.Plaintext, steps)
}

// Names lists the policies that shaped a Work, as its annotations say.
func Names(annotations map[string]string) []string {
	var out []string
	for _, key := range []string{contract.AppliedClusterOverridesAnnotation, contract.AppliedOverridesAnnotation} {
		var applied []Applied
		if json.Unmarshal([]byte(annotations[key]), &applied) != nil {
			continue // there is none
		}
		for _, a := range applied {
			if !slices.Contains(out, a.PolicyName) {
				out = append(out, a.PolicyName)
			}
		}
	}
	return out
}

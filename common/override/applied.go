package override

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
)

// maxWithout bounds for how many overriders of a rule it is recorded why they had no effect, since annotations are
// bounded.
const maxWithout = 5

// noTemplate is why an overrider of containers has no effect on an object without any. It is not recorded: a rule for
// all objects of a namespace is meant for those with containers.
const noTemplate = "no pod template"

// Applied is a rule that applies to a cluster.
type Applied struct {
	// PolicyName is the name of the rule's policy.
	PolicyName string `json:"policyName"`
	// Overriders are the changes that the rule makes.
	Overriders policyv1alpha1.Overriders `json:"overriders"`
	// WithoutEffect explains, in clauses, which of the overriders found nothing to change in the object, and why. An
	// overrider that sets an existing value has an effect.
	WithoutEffect []string `json:"withoutEffect,omitempty"`
	// Ineffective says that none of the overriders had an effect.
	Ineffective bool `json:"ineffective,omitempty"`
}

// effects counts a rule's overriders, those of them without effect, and those without effect whose reason is not
// recorded.
type effects struct {
	of, without, untold int
	told                []string
}

// add counts an overrider, given by its field and index, with the reason why it had no effect; empty if it had one.
func (e *effects) add(field string, index int, why string) {
	e.of++
	if why == "" {
		return
	}
	e.without++
	if why == noTemplate {
		e.untold++
	} else if len(e.told) < maxWithout {
		e.told = append(e.told, fmt.Sprintf("%s[%d]: %s", field, index, why))
	}
}

// sentences returns the recorded reasons.
func (e *effects) sentences() []string {
	if more := e.without - e.untold - len(e.told); more > 0 {
		return append(e.told, fmt.Sprintf("%d more overriders of the rule: likewise", more))
	}
	return e.told
}

// applyAll applies the overriders of one rule in order.
func applyAll(obj *unstructured.Unstructured, o *policyv1alpha1.Overriders, values *decoded, steps *budget) (effects, error) {
	var had effects
	for i := range o.ImageOverrider {
		why, err := applyImage(obj, &o.ImageOverrider[i], steps)
		if err != nil {
			return had, fmt.Errorf("imageOverrider[%d]: %w", i, err)
		}
		had.add("imageOverrider", i, why)
	}
	for i := range o.CommandOverrider {
		why, err := applyList(obj, "command", &o.CommandOverrider[i], steps)
		if err != nil {
			return had, fmt.Errorf("commandOverrider[%d]: %w", i, err)
		}
		had.add("commandOverrider", i, why)
	}
	for i := range o.ArgsOverrider {
		why, err := applyList(obj, "args", &o.ArgsOverrider[i], steps)
		if err != nil {
			return had, fmt.Errorf("argsOverrider[%d]: %w", i, err)
		}
		had.add("argsOverrider", i, why)
	}
	for i := range o.LabelsOverrider {
		had.add("labelsOverrider", i, applyMetadata(obj, "labels", &o.LabelsOverrider[i]))
	}
	for i := range o.AnnotationsOverrider {
		had.add("annotationsOverrider", i, applyMetadata(obj, "annotations", &o.AnnotationsOverrider[i]))
	}
	for i := range o.FieldOverrider {
		why, err := applyField(obj, &o.FieldOverrider[i], values.texts[i], steps)
		if err != nil {
			return had, fmt.Errorf("fieldOverrider[%d]: %w", i, err)
		}
		had.add("fieldOverrider", i, why)
	}
	had.of += len(o.Plaintext)
	return had, applyPlaintext(obj, o.Plaintext, values.values, steps)
}

// Annotations returns the annotations with which a Work records what was applied.
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

// Read parses what Annotations returned: the rules of ClusterOverridePolicies, and of OverridePolicies.
func Read(annotations map[string]string) (cluster, namespaced []Applied) {
	read := func(key string) []Applied {
		var out []Applied
		if value := annotations[key]; value == "" || json.Unmarshal([]byte(value), &out) != nil {
			return nil
		}
		return out
	}
	return read(contract.AppliedClusterOverridesAnnotation), read(contract.AppliedOverridesAnnotation)
}

// Names lists the policies that shaped a Work, according to its annotations.
func Names(annotations map[string]string) []string {
	var out []string
	cluster, namespaced := Read(annotations)
	for _, a := range slices.Concat(cluster, namespaced) {
		if !a.Ineffective && !slices.Contains(out, a.PolicyName) {
			out = append(out, a.PolicyName)
		}
	}
	return out
}

// WithoutEffect explains, in clauses, which overriders of which policies found nothing to change in the object of a
// Work, according to its annotations.
func WithoutEffect(annotations map[string]string) []string {
	var out []string
	cluster, namespaced := Read(annotations)
	for _, a := range cluster {
		out = append(out, a.Clauses("ClusterOverridePolicy")...)
	}
	for _, a := range namespaced {
		out = append(out, a.Clauses("OverridePolicy")...)
	}
	return out
}

// Clauses returns the clauses of WithoutEffect, prefixed with the rule's policy of this kind.
func (a *Applied) Clauses(kind string) []string {
	out := make([]string, len(a.WithoutEffect))
	for i, why := range a.WithoutEffect {
		out[i] = kind + " " + a.PolicyName + ", " + why
	}
	return out
}

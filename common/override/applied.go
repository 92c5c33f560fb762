package override

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
)

// maxWithout is of how many overriders of a rule it is told why they had no effect: annotations are bounded.
const maxWithout = 5

// noTemplate is why an overrider of containers has no effect on an object that has none. It is not told: a rule about all objects
// of a namespace means those that run.
const noTemplate = "no pod template"

// Applied is one rule that is about a cluster.
type Applied struct {
	// PolicyName is the name of its policy.
	PolicyName string `json:"policyName"`
	// Overriders are the changes that the rule makes.
	Overriders policyv1alpha1.Overriders `json:"overriders"`
	// WithoutEffect are clauses that say which of them found nothing in the object that they could
	// change, and why. What sets a value that is there already has its effect.
	WithoutEffect []string `json:"withoutEffect,omitempty"`
	// Ineffective says that none of them had an effect.
	Ineffective bool `json:"ineffective,omitempty"`
}

// effects are how many overriders a rule has, how many of them had none, and for how many of those nobody is told why.
type effects struct {
	of, without, untold int
	told                []string
}

// add counts an overrider, by its field and its place there, and why it had no effect; empty if it had one.
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

// sentences returns what there is to tell.
func (e *effects) sentences() []string {
	if more := e.without - e.untold - len(e.told); more > 0 {
		return append(e.told, fmt.Sprintf("%d more overriders of the rule: likewise", more))
	}
	return e.told
}

// applyAll applies the overriders of one rule in their order.
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

// Read returns what Annotations wrote: of ClusterOverridePolicies, and of OverridePolicies.
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

// Names lists the policies that shaped a Work, as its annotations say.
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

// WithoutEffect lists clauses that say which overriders of which policies found nothing in the object of a
// Work that they could change, as its annotations say.
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

// Clauses are those of WithoutEffect with the policy that the rule is of, given its kind.
func (a *Applied) Clauses(kind string) []string {
	out := make([]string, len(a.WithoutEffect))
	for i, why := range a.WithoutEffect {
		out[i] = kind + " " + a.PolicyName + ", " + why
	}
	return out
}

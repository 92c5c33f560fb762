package override

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// applyField patches JSON or YAML inside a string. It returns why it had no effect; empty if it had one.
func applyField(obj *unstructured.Unstructured, o *policyv1alpha1.FieldOverrider, decode func() (textPatch, error), steps *budget) (string, error) {
	at, err := stringAt(obj.Object, o.FieldPath)
	if err != nil {
		return "", fmt.Errorf("fieldPath: %w", err)
	}
	if err := boundedText(at.value); err != nil {
		return "", fmt.Errorf("fieldPath %q: %w", o.FieldPath, err)
	}
	if err := steps.spend(stepsOf(at.value, len(o.YAML)+len(o.JSON))); err != nil {
		return "", err
	}
	p, err := decode()
	if err != nil {
		return "", fmt.Errorf("fieldPath %q: %w", o.FieldPath, err)
	}
	var changed string
	switch {
	case len(o.YAML) > 0:
		changed, err = patchYAML(at.value, p)
	case len(o.JSON) > 0:
		changed, err = patchJSON(at.value, p)
	default:
		return "it has neither json nor yaml", nil
	}
	if err == nil {
		err = boundedText(changed)
	}
	if err != nil {
		return "", fmt.Errorf("fieldPath %q: %w", o.FieldPath, err)
	}
	at.set(changed)
	return "", nil
}

// stepsOf returns the number of steps for applying operations to a text.
func stepsOf(text string, operations int) int {
	return 1 + len(text)/textInStep + operations*(1+len(text)/documentInStep)
}

func patchJSON(text string, p textPatch) (string, error) {
	if !json.Valid([]byte(text)) {
		return "", errors.New("the string is not JSON; use yaml if it is YAML")
	}
	out, at, err := p.apply([]byte(text))
	if err != nil {
		return "", fmt.Errorf("json[%d], subPath %q: %w", at, p.operations[at].Path, err)
	}
	return string(out), nil
}

func patchYAML(text string, p textPatch) (string, error) {
	if err := expandable(text); err != nil {
		return "", err
	}
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return "", notYAML(err)
	}
	document, at, err := p.apply(document)
	if err != nil {
		return "", fmt.Errorf("yaml[%d], subPath %q: %w", at, p.operations[at].Path, err)
	}
	if err := flat(document); err != nil {
		return "", err
	}
	out, err := yaml.JSONToYAML(document)
	if err != nil {
		return "", errors.New("what the operations make of the string cannot be written as YAML; correct their values") // the library may quote it
	}
	return string(out), nil
}

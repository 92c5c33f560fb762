package failover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/jsonpath"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// preserved reads from what a cluster reported of an application what its successor is
// to know, by the keys of the labels that will carry it.
func preserved(status *workv1alpha2.ResourceBindingStatus, cluster string, rules []policyv1alpha1.StatePreservationRule) (map[string]string, error) {
	var reported any
	for i := range status.AggregatedStatus {
		item := &status.AggregatedStatus[i]
		if item.ClusterName != cluster || item.Status == nil {
			continue
		}
		if err := json.Unmarshal(item.Status.Raw, &reported); err != nil {
			return nil, fmt.Errorf("reading the status that cluster %q reported: %w", cluster, err)
		}
	}
	if reported == nil {
		return nil, fmt.Errorf("the application status has not yet been collected from Cluster(%s)", cluster)
	}
	out := make(map[string]string, len(rules))
	for _, rule := range rules {
		value, err := find(reported, rule.JSONPath)
		if err != nil {
			return nil, fmt.Errorf("rule for label %q: %w", rule.AliasLabelName, err)
		}
		out[rule.AliasLabelName] = value
	}
	return out, nil
}

// find reads one value that can be that of a label.
func find(from any, path string) (string, error) {
	parser := jsonpath.New("state")
	if err := parser.Parse(path); err != nil {
		return "", fmt.Errorf("jsonPath %q: %w", path, err)
	}
	var out bytes.Buffer
	if err := parser.Execute(&out, from); err != nil {
		return "", fmt.Errorf("jsonPath %q: %w", path, err)
	}
	value := out.String()
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		return "", errors.New("jsonPath " + path + " finds what cannot be the value of a label: " + strings.Join(problems, "; "))
	}
	return value, nil
}

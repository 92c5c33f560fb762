package failover

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/prose"
)

// preserved reads, from what a cluster reported about an application, the state that its replacement gets, by the keys
// of the labels that carry it.
func preserved(status *workv1alpha2.ResourceBindingStatus, cluster string, rules []policyv1alpha1.StatePreservationRule) (map[string]string, error) {
	var reported any
	for i := range status.AggregatedStatus {
		item := &status.AggregatedStatus[i]
		if item.ClusterName != cluster || item.Status == nil {
			continue
		}
		if err := decode(item.Status.Raw, &reported); err != nil {
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

// find reads one value that is valid as a label value.
func find(from any, path string) (string, error) {
	value, err := walk(from, path)
	if err != nil {
		return "", fmt.Errorf("jsonPath %s: %w", shown(path), err)
	}
	out, ok := text(value)
	if !ok {
		return "", fmt.Errorf("jsonPath %s finds an object or a list instead of one value", shown(path))
	}
	if problems := validation.IsValidLabelValue(out); len(problems) > 0 {
		return "", fmt.Errorf("jsonPath %s finds a value that a label cannot have: %s", shown(path), strings.Join(problems, "; "))
	}
	return out, nil
}

// shown returns the beginning of a jsonPath for messages.
func shown(path string) string {
	return strconv.Quote(prose.Cut(path, longestPath))
}

// decode decodes a status. Numbers stay as the cluster wrote them: a float would print larger ones with an exponent.
func decode(raw []byte, into *any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}

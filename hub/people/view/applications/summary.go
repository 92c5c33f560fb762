package applications

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// maxFields is how many fields a summary has at most.
const maxFields = 4

// counted are the fields of a status that show progress.
type counted struct {
	Phase         string             `json:"phase"`
	Replicas      *int64             `json:"replicas"`
	ReadyReplicas int64              `json:"readyReplicas"`
	Succeeded     int64              `json:"succeeded"`
	Failed        int64              `json:"failed"`
	DesiredNumber *int64             `json:"desiredNumberScheduled"`
	NumberReady   int64              `json:"numberReady"`
	Conditions    []metav1.Condition `json:"conditions"`
}

// Summary summarizes the status of an object; empty if there is nothing to say.
func Summary(status *runtime.RawExtension) string {
	if status == nil {
		return ""
	}
	var c counted
	// A kind may have a status of another shape.
	if json.Unmarshal(status.Raw, &c) != nil {
		return ""
	}
	switch {
	case c.Replicas != nil:
		return fmt.Sprintf("%d of %d ready", c.ReadyReplicas, *c.Replicas)
	case c.DesiredNumber != nil:
		return fmt.Sprintf("%d of %d ready", c.NumberReady, *c.DesiredNumber)
	case c.Succeeded+c.Failed > 0:
		return fmt.Sprintf("%d succeeded, %d failed", c.Succeeded, c.Failed)
	}
	i := slices.IndexFunc(c.Conditions, func(c metav1.Condition) bool {
		return c.Type == "Ready" && c.Status != metav1.ConditionTrue
	})
	if i >= 0 {
		return cmp.Or(c.Conditions[i].Message, c.Conditions[i].Reason, "not ready")
	}
	return cmp.Or(c.Phase, fields(status.Raw))
}

// fields formats the first fields of a status that are neither lists nor objects. An empty load balancer is included,
// since nothing else tells whoever waits for its address.
func fields(raw []byte) string {
	var all map[string]any
	if json.Unmarshal(raw, &all) != nil {
		return ""
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch value := all[name].(type) {
		case string, bool, float64:
			out = append(out, fmt.Sprintf("%s %v", name, value))
		case map[string]any:
			if name == "loadBalancer" && len(value) == 0 {
				out = append(out, "no address yet")
			}
		}
	}
	return strings.Join(out[:min(len(out), maxFields)], ", ")
}

// unhealthySentence says why an applied object is unhealthy. Share is how many replicas its cluster should have: a
// quota in the member may prevent some, and then the status only counts those that exist.
func unhealthySentence(status *runtime.RawExtension, share int32, reasons []workv1alpha1.PodReason) string {
	says, pods := strings.TrimSuffix(Summary(status), "."), unready(reasons)
	switch {
	case says == "" && pods == "":
		return "It is applied, but not healthy; its status in the cluster may say why."
	case says == "":
		return "It is applied, but not healthy. " + pods
	}
	var c counted
	if json.Unmarshal(status.Raw, &c) == nil && c.Replicas != nil && *c.Replicas < int64(share) {
		says += fmt.Sprintf("; its share is %d", share)
	}
	return strings.TrimSpace("It is applied, but not healthy: " + says + ". " + pods)
}

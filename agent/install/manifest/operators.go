package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

// Operators say what operators of the hub may do in the member. They were checked before.
type Operators struct {
	// Who are each user:NAME or group:NAME of the hub; none is nobody.
	Who []string
	// May is what they may do beside reading, In the namespaces where, APIGroups those of which they may see objects
	// beside the groups of Kubernetes.
	May, In, APIGroups []string
	// Identity says who they are in the member; empty is the chart's default.
	Identity string
	// Legacy is for a member whose API server has no constrained impersonation.
	Legacy bool
	// Said says that the owner says so now. What only stays as it was found may be what somebody else put there.
	Said bool
}

// values are those of the chart.
func (o Operators) values() map[string]any {
	out := map[string]any{
		"who": list(o.Who), "may": list(o.May), "in": list(o.In), "apiGroups": list(o.APIGroups), "legacyImpersonation": o.Legacy,
	}
	if o.Identity != "" {
		out["identity"] = o.Identity
	}
	return out
}

// OperatorObjects returns what lets operators into a member, in the order in which to apply it, and the namespace of the
// agent, which an agent that runs as a process may have no other need of. Nothing else of an agent is among it.
func OperatorObjects(o Operators) ([]*unstructured.Unstructured, error) {
	all, err := Objects(Options{Operators: o})
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, obj := range all {
		if obj.GetKind() == "Namespace" || IsOfOperators(obj.GetName()) {
			out = append(out, obj)
		}
	}
	return out, nil
}

// IsOfOperators says whether an object of an agent, by its name, is there to let operators in.
func IsOfOperators(name string) bool {
	return name == contract.ConnectName || strings.HasPrefix(name, contract.ConnectName+"-")
}

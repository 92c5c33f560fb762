package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

// Operators say what operators of the hub may do in the member. They have been validated.
type Operators struct {
	// Who are entries user:NAME or group:NAME of the hub; empty admits nobody.
	Who []string
	// May are the permissions beyond reading, In the namespaces, and APIGroups the API groups that operators may read
	// besides those of Kubernetes.
	May, In, APIGroups []string
	// Identity is how operators are named in the member; empty is the chart's default.
	Identity string
	// Legacy is for a member whose API server does not support constrained impersonation.
	Legacy bool
	// Said says that the owner has just said so. Rules that were merely found in the member may have been put there
	// by somebody else.
	Said bool
}

// values returns the chart's values.
func (o Operators) values() map[string]any {
	out := map[string]any{
		"who": list(o.Who), "may": list(o.May), "in": list(o.In), "apiGroups": list(o.APIGroups), "legacyImpersonation": o.Legacy,
	}
	if o.Identity != "" {
		out["identity"] = o.Identity
	}
	return out
}

// OperatorObjects returns the objects that admit operators to a member, in the order in which to apply them, and the
// agent's namespace, which may not exist yet if the agent runs as a process. No other objects of an agent are
// included.
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

// IsOfOperators returns whether a name is that of an object of the agent that admits operators.
func IsOfOperators(name string) bool {
	return name == contract.ConnectName || strings.HasPrefix(name, contract.ConnectName+"-")
}

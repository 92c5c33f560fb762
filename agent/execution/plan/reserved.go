package plan

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

// accountPrefix begins the user name of a ServiceAccount, accountGroupPrefix the names of its groups.
const (
	accountPrefix      = "system:serviceaccount:"
	accountGroupPrefix = "system:serviceaccounts:"
)

// Reserved returns an error if the hub must not send an object, be it the manifest or the result of Retain rules.
// What operators of the hub may do in a member is its owner's decision, so no Work creates or changes the account
// that operators use, its RBAC, or the owner's settings.
func Reserved(obj *unstructured.Unstructured) error {
	what := ""
	switch {
	case isNamedForOperators(obj):
		what = "it lets operators of the hub in, as the owner of this cluster set it"
	case obj.GetNamespace() == contract.SystemNamespace && obj.GroupVersionKind().Group == "" && obj.GetKind() == "Secret" && obj.GetName() == contract.AgentName:
		what = "it keeps the identity of this agent on the hub, and the settings for operators that the owner of this cluster made last"
	case isBinding(obj) && (bindsOperators(obj) || isOperatorName(text(obj.Object, "roleRef", "name"))):
		what = "it binds the account that operators of the hub use, or its rights"
	case obj.GetNamespace() == contract.SystemNamespace && obj.GetKind() == "Secret" && obj.GetAnnotations()[corev1.ServiceAccountNameKey] == contract.ConnectName,
		obj.GetNamespace() == contract.SystemNamespace && runsAs(obj.Object, contract.ConnectName):
		what = "it would contain the token of the account that operators of the hub use"
	default:
		return nil
	}
	return fmt.Errorf("it is not applied, because %s; the owner changes that with `agent operators`", what)
}

// isNamedForOperators returns whether an object is one of those that admit operators.
func isNamedForOperators(obj *unstructured.Unstructured) bool {
	if !isOperatorName(obj.GetName()) {
		return false
	}
	switch obj.GroupVersionKind().Group {
	case rbacv1.GroupName:
		return true
	case "":
		return obj.GetNamespace() == contract.SystemNamespace
	default:
		return false
	}
}

func isOperatorName(name string) bool {
	return name == contract.ConnectName || strings.HasPrefix(name, contract.ConnectName+"-")
}

func isBinding(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().Group == rbacv1.GroupName && strings.HasSuffix(obj.GetKind(), "RoleBinding")
}

// bindsOperators returns whether a binding grants rights to the account that operators use.
func bindsOperators(obj *unstructured.Unstructured) bool {
	subjects, _ := obj.Object["subjects"].([]any)
	return slices.ContainsFunc(subjects, func(one any) bool {
		subject, _ := one.(map[string]any)
		name := text(subject, "name")
		switch text(subject, "kind") {
		case rbacv1.ServiceAccountKind:
			namespace := text(subject, "namespace")
			return name == contract.ConnectName && (namespace == contract.SystemNamespace || namespace == "" && obj.GetNamespace() == contract.SystemNamespace)
		case rbacv1.UserKind:
			return name == accountPrefix+contract.SystemNamespace+":"+contract.ConnectName
		case rbacv1.GroupKind:
			return name == accountGroupPrefix+contract.SystemNamespace
		default:
			return false
		}
	})
}

// runsAs returns whether an object contains, at any depth, pods that run as an account.
func runsAs(value any, account string) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			if (key == "serviceAccountName" || key == "serviceAccount") && below == account || runsAs(below, account) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(below any) bool { return runsAs(below, account) })
	}
	return false
}

// text returns the string at a path in nested maps; empty if there is none.
func text(object map[string]any, path ...string) string {
	out, _, _ := unstructured.NestedString(object, path...)
	return out
}

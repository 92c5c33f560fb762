package selector

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/contract"
)

// ReservedKind says whether objects of a kind are never templates: those of this API
// itself, events and leases.
func ReservedKind(kind schema.GroupVersionKind) bool {
	switch kind.Group {
	case "cluster.karmada.io", "policy.karmada.io", "work.karmada.io", "config.karmada.io",
		"networking.karmada.io", "autoscaling.karmada.io", "remedy.karmada.io", "apps.karmada.io",
		"fairlead.dev", contract.ConnectGroup, "events.k8s.io", "coordination.k8s.io":
		return true
	case "":
		return kind.Kind == "Event"
	default:
		return false
	}
}

// Exclusions say which kinds, and which namespaces with what is in them, stay on the hub.
type Exclusions struct {
	kinds       SkippedKinds
	prefix      string
	expressions []*regexp.Regexp
}

// NewExclusions returns what the hub keeps for itself, which is the namespaces that
// begin with the prefix of execution namespaces and those of our own, and whatever
// one of the expressions matches as a whole; and the kinds that are skipped beside those
// that are reserved.
func NewExclusions(prefix string, expressions []*regexp.Regexp, kinds SkippedKinds) Exclusions {
	e := Exclusions{prefix: prefix, kinds: kinds}
	for _, expression := range expressions {
		e.expressions = append(e.expressions, regexp.MustCompile("^(?:"+expression.String()+")$"))
	}
	return e
}

// ExcludesKind says whether the objects of a kind stay on the hub.
func (e Exclusions) ExcludesKind(kind schema.GroupVersionKind) bool {
	return ReservedKind(kind) || e.kinds.has(kind)
}

// Excludes says whether a template stays on the hub because of its namespace, because it
// is such a namespace, because every API server has one of its own, or because it is a Secret of
// the hub itself.
func (e Exclusions) Excludes(t Target) bool {
	core := t.APIVersion == corev1.SchemeGroupVersion.String()
	switch {
	case core && t.Kind == "ConfigMap" && publishedEverywhere(t.Namespace, t.Name):
		return true
	case core && t.Kind == "Secret" && t.Labels[contract.SystemLabel] == contract.LabelTrue:
		return true // such as those that keep the revisions of rollouts
	case t.Namespace != "":
		return e.namespace(t.Namespace)
	case core && t.Kind == "Namespace":
		return e.namespace(t.Name)
	default:
		return false
	}
}

// publishedEverywhere says whether a ConfigMap is one by which an API server tells its own
// certificates. That of the hub would lock out whoever reads it in a member.
func publishedEverywhere(namespace, name string) bool {
	return name == "kube-root-ca.crt" || namespace == metav1.NamespaceSystem && name == "extension-apiserver-authentication"
}

func (e Exclusions) namespace(name string) bool {
	if name == contract.SystemNamespace || name == contract.ClusterNamespace || strings.HasPrefix(name, e.prefix) {
		return true
	}
	for _, expression := range e.expressions {
		if expression.MatchString(name) {
			return true
		}
	}
	return false
}

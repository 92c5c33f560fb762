package selector

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/contract"
)

// Exclusions determine which kinds, and which namespaces with their contents, stay on the hub.
type Exclusions struct {
	kinds       SkippedKinds
	prefix      string
	expressions []expression
}

// expression matches whole names of namespaces; text is the operator's spelling.
type expression struct {
	text  string
	whole *regexp.Regexp
}

// NewExclusions returns the exclusions of a hub: the namespaces with the prefix of execution namespaces, the hub's
// own namespaces and those whose whole name matches one of the expressions; and the skipped kinds in addition to the
// reserved ones.
func NewExclusions(prefix string, expressions []*regexp.Regexp, kinds SkippedKinds) Exclusions {
	e := Exclusions{prefix: prefix, kinds: kinds}
	for _, x := range expressions {
		e.expressions = append(e.expressions, expression{x.String(), regexp.MustCompile(wholly(x.String()))})
	}
	return e
}

// wholly makes an expression match whole names.
func wholly(expression string) string { return "^(?:" + expression + ")$" }

// ExcludesKind returns whether the objects of a kind stay on the hub.
func (e Exclusions) ExcludesKind(kind schema.GroupVersionKind) bool { return e.WhyKind(kind) != "" }

// WhyKind returns the clause that says why the objects of a kind stay on the hub; empty if they do not.
func (e Exclusions) WhyKind(kind schema.GroupVersionKind) string {
	switch {
	case ReservedKind(kind):
		return kind.Kind + " of " + kind.GroupVersion().String() + " is part of how the hub works"
	case e.kinds.has(kind):
		return kind.Kind + " of " + kind.GroupVersion().String() + " is named in --skipped-propagating-apis of the hub"
	}
	return ""
}

// Excludes returns whether a template stays on the hub: because of its namespace, because it is such a namespace,
// because every API server has one of its own, or because it is a Secret of the hub itself.
func (e Exclusions) Excludes(t Target) bool { return e.Why(t) != "" }

// Why returns the clause that says why a template stays on the hub, whatever its kind; empty if it does not.
func (e Exclusions) Why(t Target) string {
	core := t.APIVersion == corev1.SchemeGroupVersion.String()
	switch {
	case core && t.Kind == "ConfigMap" && publishedEverywhere(t.Namespace, t.Name):
		return "every API server publishes a ConfigMap " + t.Name + " of its own"
	case core && t.Kind == "Secret" && t.Labels[contract.SystemLabel] == contract.LabelTrue:
		return "the hub made this Secret for itself" // such as those with revisions of rollouts
	case t.Namespace != "":
		return e.WhyNamespace(t.Namespace)
	case core && t.Kind == "Namespace":
		return e.WhyNamespace(t.Name)
	default:
		return ""
	}
}

// publishedEverywhere returns whether a ConfigMap is one in which an API server publishes its own certificates. The
// hub's copy would lock out everybody who reads it in a member.
func publishedEverywhere(namespace, name string) bool {
	return name == "kube-root-ca.crt" || namespace == metav1.NamespaceSystem && name == "extension-apiserver-authentication"
}

// WhyNamespace returns the clause that says why a namespace and its contents stay on the hub; empty if they do not.
func (e Exclusions) WhyNamespace(name string) string {
	switch {
	case name == contract.SystemNamespace || name == contract.ClusterNamespace:
		return "namespace " + name + " is one of the hub's own"
	case strings.HasPrefix(name, e.prefix):
		return "in namespaces like " + name + " the hub keeps what it sends to a cluster"
	}
	for _, x := range e.expressions {
		if x.whole.MatchString(name) {
			return fmt.Sprintf("namespace %s is one of those that --skipped-propagating-namespaces of the hub keeps there (%s)", name, x.text)
		}
	}
	return ""
}

// Prefix returns the prefix of execution namespaces.
func (e Exclusions) Prefix() string { return e.prefix }

// Expression returns a regular expression for the whole names of the namespaces that the operator keeps on the hub.
func (e Exclusions) Expression() string {
	texts := make([]string, len(e.expressions))
	for i, x := range e.expressions {
		texts[i] = "(?:" + x.text + ")"
	}
	if len(texts) == 0 {
		return "^$" // no namespace has an empty name
	}
	return wholly(strings.Join(texts, "|"))
}

// Keys of the ConfigMap contract.ExclusionsName.
const (
	prefixKey     = "executionNamespacePrefix"
	namespacesKey = "skippedNamespaces" // one expression per line
	kindsKey      = "skippedAPIs"
)

// Data returns what a hub publishes of its exclusions, for clients that ask what happens to a template.
func (e Exclusions) Data() map[string]string {
	texts := make([]string, len(e.expressions))
	for i, x := range e.expressions {
		texts[i] = x.text
	}
	return map[string]string{prefixKey: e.prefix, namespacesKey: strings.Join(texts, "\n"), kindsKey: e.kinds.text}
}

// ReadExclusions parses what a hub has published.
func ReadExclusions(data map[string]string) (Exclusions, error) {
	if data[prefixKey] == "" {
		return Exclusions{}, fmt.Errorf("%s is missing", prefixKey)
	}
	var expressions []*regexp.Regexp
	for text := range strings.Lines(data[namespacesKey]) {
		x, err := regexp.Compile(strings.TrimSuffix(text, "\n"))
		if err != nil {
			return Exclusions{}, fmt.Errorf("%s: %w", namespacesKey, err)
		}
		expressions = append(expressions, x)
	}
	kinds, err := ParseSkippedKinds(data[kindsKey])
	if err != nil {
		return Exclusions{}, fmt.Errorf("%s: %w", kindsKey, err)
	}
	return NewExclusions(data[prefixKey], expressions, kinds), nil
}

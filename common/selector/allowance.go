package selector

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/prose"
)

// ofSelector bounds how much of a selector messages quote.
const ofSelector = 200

// Allowance is the set of clusters that a namespace of the hub may use, from its annotation
// contract.ClustersAnnotation. Nil allows every cluster. It is safe for concurrent use.
type Allowance struct {
	namespace string
	// selector is the whole annotation, text the part that messages quote.
	selector, text, why string
	clusters            labels.Selector
	// mistake is why the annotation is invalid; clusters is nil then.
	mistake error
}

// AllowanceOf returns the clusters that a namespace may use; nil if it has no annotation, which means all.
func AllowanceOf(namespace metav1.Object) *Allowance {
	text, says := namespace.GetAnnotations()[contract.ClustersAnnotation]
	if !says {
		return nil
	}
	a := &Allowance{namespace: namespace.GetName(), selector: text, text: prose.Cut(text, ofSelector)}
	a.why = fmt.Sprintf("namespace %s may use only those that its annotation %s selects: %s", a.namespace, contract.ClustersAnnotation, a.text)
	if strings.TrimSpace(text) == "" {
		a.mistake = errors.New("it is empty; without the annotation every cluster is allowed")
		return a
	}
	a.clusters, a.mistake = labels.Parse(text)
	return a
}

// Allows returns whether the namespace may use a cluster. With an invalid annotation it may use none.
func (a *Allowance) Allows(c *clusterv1alpha1.Cluster) bool {
	return a == nil || a.mistake == nil && a.clusters.Matches(labels.Set(c.Labels))
}

// Unusable explains why the annotation is not acted on, and what to do: it is invalid, or selects none of the
// clusters, which is more likely a mistake than the intention to stop everything. It is empty if the annotation is
// usable.
func (a *Allowance) Unusable(clusters []*clusterv1alpha1.Cluster) string {
	if a == nil {
		return ""
	}
	const stays = "Nothing is placed anew and nothing is taken away until an administrator"
	if a.mistake != nil {
		return fmt.Sprintf("The annotation %s of Namespace %s, which says which clusters the namespace may use, is no label selector: %s. %s corrects it: kubectl annotate namespace %s --overwrite %s=KEY=VALUE.",
			contract.ClustersAnnotation, a.namespace, prose.Cut(a.mistake.Error(), ofSelector), stays, a.namespace, contract.ClustersAnnotation)
	}
	if len(clusters) == 0 || slices.ContainsFunc(clusters, a.Allows) {
		return ""
	}
	return fmt.Sprintf("Namespace %s may use the clusters with the labels %s (annotation %s), and no Cluster has them. %s corrects the annotation or labels a Cluster.",
		a.namespace, a.text, contract.ClustersAnnotation, stays)
}

// Key differs between any two allowances that allow other clusters, or have other texts. It is empty for nil.
func (a *Allowance) Key() string {
	switch {
	case a == nil:
		return ""
	case a.text == a.selector:
		return a.why // it quotes the whole selector
	default:
		sum := sha256.Sum256([]byte(a.selector))
		return a.why + hex.EncodeToString(sum[:])
	}
}

// Why returns the clause that says why the namespace may not use some clusters.
func (a *Allowance) Why() string { return a.why }

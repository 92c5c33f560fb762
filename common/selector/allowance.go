package selector

import (
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

// ofSelector is how much of a selector sentences repeat.
const ofSelector = 200

// Allowance is which clusters a namespace of the hub may use, by its annotation contract.ClustersAnnotation. Nil
// allows every cluster. It is safe for use by many goroutines.
type Allowance struct {
	namespace, text, why string
	clusters             labels.Selector
	// mistake is why the annotation cannot be read; then clusters is nil.
	mistake error
}

// AllowanceOf returns which clusters a namespace may use; nil if it says nothing, which is all.
func AllowanceOf(namespace metav1.Object) *Allowance {
	text, says := namespace.GetAnnotations()[contract.ClustersAnnotation]
	if !says {
		return nil
	}
	a := &Allowance{namespace: namespace.GetName(), text: prose.Cut(text, ofSelector)}
	a.why = fmt.Sprintf("namespace %s may use only those that its annotation %s selects: %s", a.namespace, contract.ClustersAnnotation, a.text)
	if strings.TrimSpace(text) == "" {
		a.mistake = errors.New("it is empty; without the annotation every cluster is allowed")
		return a
	}
	a.clusters, a.mistake = labels.Parse(text)
	return a
}

// Allows says whether the namespace may use a cluster. One whose annotation cannot be read may use none.
func (a *Allowance) Allows(c *clusterv1alpha1.Cluster) bool {
	return a == nil || a.mistake == nil && a.clusters.Matches(labels.Set(c.Labels))
}

// Unusable says why nothing follows from the annotation, in sentences that say what to do: it cannot be read, or selects none
// of the clusters, which is a slip more likely than the wish to stop all that runs. Empty if it can be gone by.
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

// Why is the clause why the namespace may not use some clusters.
func (a *Allowance) Why() string { return a.why }

package applications

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// Policy is a PropagationPolicy or ClusterPropagationPolicy as it is shown to people.
type Policy struct {
	PolicyKey
	// Selects describes each selector in words.
	Selects []string `json:"selects"`
	// Priority is the policy's spec.priority.
	Priority int32 `json:"priority"`
	// Has is how many applications it matches, and States counts them by state.
	Has    int           `json:"has"`
	States map[State]int `json:"states,omitempty"`
	// Remark is a sentence for operators; empty if there is none.
	Remark  string    `json:"remark,omitempty"`
	Created time.Time `json:"created"`
}

// Policies returns the policies with their applications, cluster-scoped ones first, then by namespace and name. It
// changes neither argument.
func Policies(policies []policyv1alpha1.Policy, apps []Application) []Policy {
	out := make([]Policy, len(policies))
	at := make(map[PolicyKey]int, len(policies))
	for i, p := range policies {
		out[i] = Policy{
			PolicyKey: KeyOf(p), Selects: selects(p.PropagationSpec().ResourceSelectors),
			Priority: ptr.Deref(p.PropagationSpec().Priority, 0), Created: p.GetCreationTimestamp().Time,
		}
		at[out[i].PolicyKey] = i
	}
	for i := range apps {
		if n, ok := at[apps[i].Policy]; ok {
			out[n].Has++
			if out[n].States == nil {
				out[n].States = map[State]int{}
			}
			out[n].States[apps[i].State]++
		}
	}
	for i, p := range policies {
		out[i].Remark = remark(p, &out[i])
	}
	slices.SortFunc(out, func(a, b Policy) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// KeyOf returns the key of a policy.
func KeyOf(p policyv1alpha1.Policy) PolicyKey {
	kind := policyv1alpha1.KindPropagationPolicy
	if p.GetNamespace() == "" {
		kind = policyv1alpha1.KindClusterPropagationPolicy
	}
	return PolicyKey{Kind: kind, Namespace: p.GetNamespace(), Name: p.GetName()}
}

func remark(p policyv1alpha1.Policy, row *Policy) string {
	switch {
	case p.GetDeletionTimestamp() != nil:
		return "It is being deleted."
	case row.Has == 0:
		return "It has no objects: none that it selects is on the hub, or other policies have them; see `hub explain` of the object."
	default:
		return ""
	}
}

// selects describes selectors in words.
func selects(selectors []policyv1alpha1.ResourceSelector) []string {
	out := make([]string, len(selectors))
	for i := range selectors {
		s := &selectors[i]
		switch {
		case s.Name != "":
			out[i] = s.Kind + " " + s.Name
		case s.LabelSelector != nil:
			out[i] = s.Kind + " with " + metav1.FormatLabelSelector(s.LabelSelector)
		default:
			out[i] = "every " + s.Kind
		}
		if s.Namespace != "" {
			out[i] += fmt.Sprintf(" in %s", s.Namespace)
		}
	}
	return out
}

// Words joins the descriptions of the selectors.
func (p Policy) Words() string { return strings.Join(p.Selects, ", ") }

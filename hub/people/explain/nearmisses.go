package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/prose"
	"fairlead.dev/common/selector"
)

// NearMiss is a policy that does not select the template, but may be meant to.
type NearMiss struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Why says which part of which selector does not match.
	Why string `json:"why"`
	// Near says that a typo may explain the difference.
	Near bool `json:"near,omitempty"`
}

// The distance of a part of a selector from a match: near for a possible typo, far for another name.
const (
	near = 1
	far  = 3
)

// maxNearMisses is how many near misses are reported, the nearest first.
const maxNearMisses = 5

// NearMisses returns policies that do not select a template, the nearest first, with the part that does not match.
// Listed are the policies from Policies: if there are any, only possible typos are returned, since the other policies
// are about other objects. Others has the same meaning as for Policies.
func NearMisses(all []policyv1alpha1.Policy, listed []Policy, t selector.Target, others ...string) []NearMiss {
	type found struct {
		NearMiss

		distance int
	}
	most := far
	if len(listed) > 0 {
		most = near
	}
	isListed := func(p policyv1alpha1.Policy) bool {
		return slices.ContainsFunc(listed, func(l Policy) bool { return l.Namespace == p.GetNamespace() && l.Name == p.GetName() })
	}
	var out []found
	for _, p := range all {
		if p.GetDeletionTimestamp() != nil || isListed(p) {
			continue
		}
		if distance, why := nearest(p.PropagationSpec().ResourceSelectors, t, others); why != "" && distance <= most {
			out = append(out, found{NearMiss{kindOf(p), p.GetNamespace(), p.GetName(), why, distance <= near}, distance})
		}
	}
	slices.SortStableFunc(out, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), -cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	var told []NearMiss
	for _, f := range out[:min(len(out), maxNearMisses)] {
		told = append(told, f.NearMiss)
	}
	return told
}

// nearest returns the distance of the nearest selector, and what of it does not match; empty if none is about such an
// object.
func nearest(selectors []policyv1alpha1.ResourceSelector, t selector.Target, others []string) (distance int, why string) {
	for i := range selectors {
		d, parts := misses(&selectors[i], t, others)
		if len(parts) == 0 || why != "" && d >= distance {
			continue
		}
		distance, why = d, fmt.Sprintf("resourceSelectors[%d] %s", i, strings.Join(parts, ", and "))
	}
	return distance, why
}

// misses returns the parts of a selector that do not match; none if it is about entirely different objects.
func misses(s *policyv1alpha1.ResourceSelector, t selector.Target, others []string) (distance int, parts []string) {
	say := func(d int, format string, args ...any) {
		distance += d
		parts = append(parts, fmt.Sprintf(format, args...))
	}
	switch {
	case s.Kind == t.Kind:
	case strings.EqualFold(s.Kind, t.Kind), strings.EqualFold(s.Kind, t.Kind+"s"):
		say(near, "says the kind %s, which is written %s", prose.OneLine(s.Kind), t.Kind)
	default:
		return 0, nil
	}
	switch {
	case s.APIVersion == t.APIVersion || slices.Contains(others, s.APIVersion):
	case groupOf(s.APIVersion) == groupOf(t.APIVersion):
		say(near, "says %s, which the hub does not serve: write %s", s.APIVersion, t.APIVersion)
	default:
		say(near, "says %s, but this object is of %s", s.APIVersion, t.APIVersion)
	}
	switch {
	case s.Namespace == "" || s.Namespace == t.Namespace:
	case t.Namespace == "":
		say(near, "says namespace %s, but this object is not namespaced", s.Namespace)
	default:
		say(near, "says namespace %s", s.Namespace)
	}
	switch {
	case s.Name == t.Name && s.Name != "":
	case s.Name != "" && alike(s.Name, t.Name):
		say(near, "says the name %s", s.Name)
	case s.Name != "":
		say(far, "says the name %s", s.Name)
	case s.LabelSelector != nil:
		if why := missedLabels(s.LabelSelector, t.Labels); why != "" {
			say(near, "%s", why)
		}
	}
	return distance, parts
}

func groupOf(apiVersion string) string { return schema.FromAPIVersionAndKind(apiVersion, "").Group }

// missedLabels returns the first requirement of a label selector that the labels do not meet; empty if they meet all.
func missedLabels(s *metav1.LabelSelector, has map[string]string) string {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return fmt.Sprintf("has a labelSelector that cannot be read (%v)", err)
	}
	requirements, _ := parsed.Requirements()
	for _, r := range requirements {
		if r.Matches(labels.Set(has)) {
			continue
		}
		if value, there := has[r.Key()]; there {
			return fmt.Sprintf("requires the label %s, but this object has %s=%s", r.String(), r.Key(), value)
		}
		return fmt.Sprintf("requires the label %s, but this object has no %s", r.String(), r.Key())
	}
	return ""
}

// alike says whether one name may be a typo of the other: one is a prefix of the other, or they differ by at most two
// letters.
func alike(a, b string) bool {
	if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
		return true
	}
	const most = 2
	return min(len(a), len(b)) > most && edits(a, b) <= most
}

// edits returns the edit distance between two names: how many letters must be replaced, removed or inserted.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0] // the value of the previous row, one to the left
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			same := before
			if a[i] != b[j] {
				same++
			}
			row[j+1] = min(same, above+1, row[j]+1)
			before = above
		}
	}
	return row[len(b)]
}

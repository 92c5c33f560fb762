package dashboard

import (
	"context"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view/applications"
)

// policyList is the data of the page of policies.
type policyList struct {
	Rows     []policyRow
	Paging   paging
	Filtered bool
}

// policyRow is a policy, with the states of its applications.
type policyRow struct {
	applications.Policy
	Counts    []stateCount
	Suspended bool
}

// nothing is the value of the filter for policies that match nothing.
const nothing = "nothing"

func (s *Server) policies(ctx context.Context, v *visit) (*page, error) {
	visible, err := s.visibility(ctx, v.user)
	if err != nil {
		return nil, err
	}
	all := s.visiblePolicies(visible, visibleApplications(visible, s.index.Applications()))
	words, namespace, state := strings.Fields(strings.ToLower(v.text("q"))), v.text("namespace"), v.text("state")
	namespaces := map[string]int{}
	var rows []applications.Policy
	for _, p := range all {
		namespaces[p.Namespace]++
		if namespace != "" && p.Namespace != namespace || state == nothing && p.Has > 0 || state == "suspended" && !s.isSuspended(p.PolicyKey) ||
			!containsAll(strings.ToLower(p.Namespace+"/"+p.Name+" "+p.Words()), words) {
			continue
		}
		rows = append(rows, p)
	}
	delete(namespaces, "")
	shown, paging := pageOf(v, "page", "policy", rows, rowsPerPage)
	list := policyList{Paging: paging, Filtered: len(words) > 0 || namespace != "" || state != ""}
	for _, p := range shown {
		list.Rows = append(list.Rows, policyRow{Policy: p, Counts: countsOf(p), Suspended: s.isSuspended(p.PolicyKey)})
	}
	filter := filterBar{
		Action: "/policies", Query: v.text("q"), Placeholder: "Name, or what it selects", Clear: clearOf(v, "q", "namespace", "state"),
		Selects: []filterSelect{
			{Name: "namespace", Label: "Namespace", Choices: choices(namespaces, namespace)},
			{Name: "state", Label: "State", Choices: []choice{{Value: nothing, Text: "Has nothing", Chosen: state == nothing}, {Value: "suspended", Text: "Suspended", Chosen: state == "suspended"}}},
		},
	}
	return &page{
		title: "Policies", nav: "policies", heading: heading{Title: "Policies"},
		fragments: []fragment{
			{id: "filter", template: "filter", data: filter, still: true},
			{id: "policies", template: "policies", data: list},
		},
		follows: func(t live.Topic) bool { return t.Kind == live.Policy || t.Kind == live.Application },
	}, nil
}

// containsAll says whether a text has all words.
func containsAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

func countsOf(p applications.Policy) []stateCount {
	var out []stateCount
	for _, state := range applications.States() {
		if n := p.States[state]; n > 0 {
			out = append(out, stateCount{State: string(state), Count: n})
		}
	}
	return out
}

func (s *Server) isSuspended(name applications.PolicyKey) bool {
	p := s.index.Policy(name)
	return p != nil && suspended(p.PropagationSpec())
}

func suspended(spec *policyv1alpha1.PropagationSpec) bool {
	return spec.Suspension != nil && ptr.Deref(spec.Suspension.Dispatching, false)
}

package dashboard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view/applications"
)

// policyList is what the page of policies shows.
type policyList struct {
	Rows     []policyRow
	Paging   paging
	Filtered bool
}

// policyRow is a policy, with how the applications that it has fare.
type policyRow struct {
	applications.Policy
	Counts    []stateCount
	Suspended bool
}

// nothing is the value of the filter for policies that have nothing.
const nothing = "nothing"

func (s *Server) policies(ctx context.Context, v *visit) (*page, error) {
	visible, err := s.visibility(ctx, v.user)
	if err != nil {
		return nil, err
	}
	all := s.seenPolicies(visible, seenApplications(visible, s.index.Applications()))
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

// policyFacts is what the page of a policy shows of it.
type policyFacts struct {
	policyRow
	Preemption, Placement, Conflict string
	Deps                            bool
	YAML                            string
}

// policyMatched are the applications that a policy has.
type policyMatched struct {
	Rows   []*applications.Application
	Paging paging
	Remark string
}

func (s *Server) policy(ctx context.Context, v *visit) (*page, error) {
	p, err := s.readPolicy(ctx, v)
	if err != nil {
		return nil, err
	}
	visible, err := s.visibility(ctx, v.user)
	if err != nil {
		return nil, err
	}
	name := applications.KeyOf(p)
	var has []applications.Application
	var rows []*applications.Application
	for _, a := range seenApplications(visible, s.index.Applications()) {
		if a.Policy == name {
			has = append(has, *a)
			rows = append(rows, a)
		}
	}
	slices.SortStableFunc(rows, func(a, b *applications.Application) int { return applications.Worse(*a, *b) })
	row := applications.Policies([]policyv1alpha1.Policy{p}, has)[0]
	text, err := s.manifestOf(p)
	if err != nil {
		return nil, err
	}
	spec := p.PropagationSpec()
	facts := policyFacts{
		policyRow:  policyRow{Policy: row, Counts: countsOf(row), Suspended: suspended(spec)},
		Preemption: string(spec.Preemption), Conflict: string(spec.ConflictResolution), Deps: spec.PropagateDeps,
		Placement: placement(&spec.Placement), YAML: text,
	}
	matched := policyMatched{Remark: row.Remark}
	matched.Rows, matched.Paging = pageOf(v, "page", "application", rows, rowsPerPage)
	h := heading{Title: p.GetName(), Kind: name.Kind, Trail: []link{{Text: "Policies", To: "/policies"}}}
	if name.Namespace != "" {
		h.Title = name.Namespace + "/" + p.GetName()
	}
	may, err := v.user.May(ctx, changesPolicy(name))
	switch {
	case err != nil:
		return nil, err
	case may && facts.Suspended:
		h.Actions = []link{{Text: "Resume", To: policyPath(name) + "/resume"}}
	case may:
		h.Actions = []link{{Text: "Suspend", To: policyPath(name) + "/suspend"}}
	}
	return &page{
		title: h.Title, nav: "policies", heading: h,
		fragments: []fragment{
			{id: "facts", template: "policy-facts", data: facts},
			{id: "matched", template: "policy-matched", data: matched},
			{id: "yaml", template: "yaml", data: yamlView{Title: "As it is on the hub", Text: text, ID: "policy-yaml"}},
		},
		follows: func(t live.Topic) bool {
			return t.Kind == live.Application || t.Kind == live.Policy && t.Key == name.Namespace+"/"+name.Name
		},
	}, nil
}

// readPolicy reads the policy of the path as the person.
func (s *Server) readPolicy(ctx context.Context, v *visit) (policyv1alpha1.Policy, error) {
	key := client.ObjectKey{Namespace: namespaceOf(v), Name: v.request.PathValue("name")}
	if key.Namespace == "" {
		p := &policyv1alpha1.ClusterPropagationPolicy{}
		return p, v.user.Hub.Get(ctx, key, p)
	}
	p := &policyv1alpha1.PropagationPolicy{}
	return p, v.user.Hub.Get(ctx, key, p)
}

func changesPolicy(p applications.PolicyKey) auth.Access {
	a := auth.Access{Verb: "patch", Group: policyv1alpha1.GroupVersion.Group, Resource: "propagationpolicies", Namespace: p.Namespace, Name: p.Name}
	if p.Namespace == "" {
		a.Resource = "clusterpropagationpolicies"
	}
	return a
}

// placement says in words where a policy sends things.
func placement(p *policyv1alpha1.Placement) string {
	var out []string
	switch {
	case p.ClusterAffinity != nil:
		out = append(out, affinity(p.ClusterAffinity))
	case len(p.ClusterAffinities) > 0:
		var groups []string
		for i := range p.ClusterAffinities {
			groups = append(groups, p.ClusterAffinities[i].AffinityName+" ("+affinity(&p.ClusterAffinities[i].ClusterAffinity)+")")
		}
		out = append(out, "the first that fits of "+strings.Join(groups, ", "))
	default:
		out = append(out, "every cluster")
	}
	for _, c := range p.SpreadConstraints {
		field := string(c.SpreadByField)
		if c.SpreadByLabel != "" {
			field = "label " + c.SpreadByLabel
		}
		out = append(out, fmt.Sprintf("spread by %s over %d to %d", field, c.MinGroups, c.MaxGroups))
	}
	if r := p.ReplicaScheduling; r != nil && r.ReplicaSchedulingType == policyv1alpha1.Divided {
		out = append(out, strings.ToLower("replicas "+string(r.ReplicaSchedulingType)+", "+string(r.ReplicaDivisionPreference)))
		for i := range r.ReplicaBounds {
			out = append(out, bounds(&r.ReplicaBounds[i]))
		}
	}
	return strings.Join(out, "; ")
}

// bounds says in words how many replicas clusters may have.
func bounds(b *policyv1alpha1.ClusterReplicaBounds) string {
	if b.MaxReplicas == nil {
		return fmt.Sprintf("%d replicas or more in %s", b.MinReplicas, affinity(&b.TargetCluster))
	}
	return fmt.Sprintf("%d to %d replicas in %s", b.MinReplicas, *b.MaxReplicas, affinity(&b.TargetCluster))
}

func affinity(a *policyv1alpha1.ClusterAffinity) string {
	var out []string
	if len(a.ClusterNames) > 0 {
		out = append(out, strings.Join(a.ClusterNames, ", "))
	}
	if a.LabelSelector != nil {
		out = append(out, "clusters with certain labels")
	}
	if a.FieldSelector != nil {
		out = append(out, "clusters of certain regions, zones or providers")
	}
	if len(out) == 0 {
		out = append(out, "every cluster")
	}
	if len(a.ExcludeClusters) > 0 {
		out = append(out, "but not "+strings.Join(a.ExcludeClusters, ", "))
	}
	return strings.Join(out, ", ")
}

// askSuspend asks whether what a policy has is to be delivered no more, or again.
func (s *Server) askSuspend(stop bool) func(ctx context.Context, v *visit) (*question, error) {
	return func(ctx context.Context, v *visit) (*question, error) {
		p, err := s.readPolicy(ctx, v)
		if err != nil {
			return nil, err
		}
		name := applications.KeyOf(p)
		if err := v.user.Must(ctx, changesPolicy(name)); err != nil {
			return nil, err
		}
		if !stop {
			return &question{
				Title: "Resume " + name.Name + "?", Button: "Resume", Back: policyPath(name),
				Text: "What this policy has is delivered again: every change since then is sent to the clusters at once.",
			}, nil
		}
		return &question{
			Title: "Suspend " + name.Name + "?", Button: "Suspend", Back: policyPath(name), Danger: true,
			Text:   "What this policy has is not delivered any more until you resume it: the copies in the clusters stay as they are.",
			Points: []string{"Deletions still take effect.", "Changes are kept on the hub and go out with the resumption."},
		}, nil
	}
}

func (s *Server) doSuspend(stop bool) func(ctx context.Context, v *visit) (string, string, error) {
	return func(ctx context.Context, v *visit) (string, string, error) {
		p, err := s.readPolicy(ctx, v)
		if err != nil {
			return "", "", err
		}
		edit, err := kube.Begin(p)
		if err != nil {
			return "", "", err
		}
		spec := p.PropagationSpec()
		said := "is suspended: nothing is delivered until you resume it."
		if stop {
			if spec.Suspension == nil {
				spec.Suspension = &policyv1alpha1.Suspension{}
			}
			spec.Suspension.Dispatching = new(true)
		} else {
			said = "is resumed."
			if spec.Suspension != nil {
				spec.Suspension.Dispatching = nil
				if spec.Suspension.DispatchingOnClusters == nil {
					spec.Suspension = nil
				}
			}
		}
		if _, err := edit.Commit(ctx, v.user.Hub, contract.FieldManagerDashboard); err != nil {
			return "", "", fmt.Errorf("changing policy %q: %w", p.GetName(), err)
		}
		return "Policy " + p.GetName() + " " + said, policyPath(applications.KeyOf(p)), nil
	}
}

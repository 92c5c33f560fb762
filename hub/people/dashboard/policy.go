package dashboard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view/applications"
)

// policyFacts is the data of the first part of a policy's page.
type policyFacts struct {
	policyRow
	Preemption, Placement, Conflict string
	Deps                            bool
	YAML                            string
}

// policyMatched are the applications of a policy.
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
	for _, a := range visibleApplications(visible, s.index.Applications()) {
		if a.Policy == name {
			has = append(has, *a)
			rows = append(rows, a)
		}
	}
	slices.SortStableFunc(rows, func(a, b *applications.Application) int { return applications.CompareBySeverity(*a, *b) })
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

// readPolicy reads the policy in the path as the person.
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

// placement describes a policy's placement in words.
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

// bounds describes the replica bounds of clusters in words.
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

package explain

import (
	"fmt"
)

func (p *printer) policies(r *Report) {
	p.line("")
	p.line("Policies that select it:")
	if len(r.Policies) == 0 {
		p.line("  none")
	} else {
		p.row("POLICY", "PRIORITY", "SELECTS", "HAS IT", "WHY")
	}
	for _, policy := range r.Policies {
		has := "no"
		if policy.Has {
			has = "yes"
		}
		p.row(named(policy.Kind, policy.Namespace, policy.Name), fmt.Sprint(policy.Priority), policy.Selects, has, policy.Why)
	}
	if len(r.NearMisses) == 0 {
		return
	}
	p.line("")
	p.line("Policies that nearly select it:")
	p.row("POLICY", "WHY NOT")
	for _, miss := range r.NearMisses {
		p.row(named(miss.Kind, miss.Namespace, miss.Name), miss.Why)
	}
}

// named formats the name of a policy for a table.
func named(kind, namespace, name string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return short(kind) + " " + name
}

func short(kind string) string {
	if kind == "ClusterPropagationPolicy" {
		return "cpp"
	}
	return "pp"
}

func (p *printer) clusters(r *Report) {
	if s := r.Scheduled; s != nil {
		p.line("")
		p.line("Scheduled: %s (%s)%s: %s", s.Status, s.Reason, p.ago(s.Last), s.Message)
		if s.Group != "" {
			p.line("  in the group %q of clusterAffinities", s.Group)
		}
	}
	for _, a := range r.Attempts {
		p.line("")
		switch {
		case a.Group != "" && a.Failed != "":
			p.line("Clusters, group %q, which does not fit: %s", a.Group, a.Failed)
		case a.Group != "":
			p.line("Clusters, group %q:", a.Group)
		case a.Failed != "":
			p.line("Clusters: %s", a.Failed)
		default:
			p.line("Clusters:")
		}
		p.row("CLUSTER", "VERDICT", "HAS", "SCORE", "FITS", "WHY")
		for _, v := range a.Clusters {
			p.row(v.Cluster, verdictOf(v), count(v.Assigned), score(v), fits(v), reasonOf(v))
		}
	}
	p.unknown(r)
	if r.Now != "" {
		p.line("")
		p.line("%s", r.Now)
	}
	if r.Better != "" {
		p.line("")
		p.line("%s", r.Better)
	}
}

func verdictOf(v Verdict) string {
	switch {
	case v.Chosen && v.Replicas > 0:
		return fmt.Sprintf("chosen for %d", v.Replicas)
	case v.Chosen:
		return "chosen"
	case v.Filter != "":
		return "refused"
	default:
		return "not chosen"
	}
}

func count(n *int32) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

func score(v Verdict) string {
	if v.Filter != "" {
		return ""
	}
	return fmt.Sprint(v.Score)
}

func fits(v Verdict) string {
	if v.Fits == nil {
		return ""
	}
	if v.CapacityLimit == "" {
		return "any"
	}
	return fmt.Sprintf("%d more (%s)", *v.Fits, v.CapacityLimit)
}

func reasonOf(v Verdict) string {
	switch {
	case v.Filter != "":
		return v.Filter + ": " + v.Reason
	case v.Limit != "" && v.Chosen:
		return "limited by " + v.Limit
	default:
		return v.Limit
	}
}

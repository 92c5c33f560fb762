package explain

import (
	"fmt"
)

func (p *printer) policies(r *Report) {
	p.line("")
	p.line("Policies that select it:")
	if len(r.Policies) == 0 {
		p.line("  none")
		return
	}
	p.row("POLICY", "PRIORITY", "SELECTS", "HAS IT", "WHY")
	for _, policy := range r.Policies {
		name := policy.Name
		if policy.Namespace != "" {
			name = policy.Namespace + "/" + name
		}
		has := "no"
		if policy.Has {
			has = "yes"
		}
		p.row(short(policy.Kind)+" "+name, fmt.Sprint(policy.Priority), policy.Selects, has, policy.Why)
	}
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
			p.line("Clusters, group %q, which does not do: %s", a.Group, a.Failed)
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

package explain

import (
	"fmt"
	"strings"

	"fairlead.dev/common/prose"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/rollouts"
)

// maxClusters bounds how many clusters a sentence names.
const maxClusters = 3

func (p *printer) members(r *Report) {
	if len(r.Members) == 0 {
		return
	}
	p.line("")
	p.line("In the members:")
	p.row("CLUSTER", "READY", "WORK", "APPLIED", "HEALTH", "SINCE", "OVERRIDDEN BY", "MESSAGE")
	for _, m := range r.Members {
		message := m.Message
		if m.Suspended {
			message = strings.TrimSpace("dispatching is suspended. " + message)
		}
		if m.Rollout != nil {
			message = strings.TrimSpace(revisionOf(m.Rollout) + message)
		}
		p.row(m.Cluster, m.Ready, m.Work, m.Applied, m.Health, p.since(m.Reported), strings.Join(m.Overrides, ", "), message)
	}
}

// withoutEffect lists the overriders that changed nothing, with their clusters, since most apply to all.
func (p *printer) withoutEffect(r *Report) {
	var reasons []string
	in := map[string][]string{}
	for _, m := range r.Members {
		for _, why := range m.WithoutEffect {
			if in[why] == nil {
				reasons = append(reasons, why)
			}
			in[why] = append(in[why], m.Cluster)
		}
	}
	if len(reasons) == 0 {
		return
	}
	p.line("")
	p.line("Overriders without effect:")
	for _, why := range reasons {
		p.line("  %s (in %s)", why, prose.Names(in[why], maxClusters))
	}
}

// pods lists, for clusters in which the object is unhealthy, why pods are not ready.
func (p *printer) pods(r *Report) {
	headed := false
	for _, m := range r.Members {
		for i := range m.PodReasons {
			if !headed {
				p.line("")
				p.line("Why pods are not ready:")
				p.row("CLUSTER", "POD", "REASON")
				headed = true
			}
			p.row(m.Cluster, m.PodReasons[i].Pod, applications.Unready(&m.PodReasons[i]))
		}
	}
}

// revisionOf says which revision a cluster has, and why not a newer one.
func revisionOf(c *rollouts.Cluster) string {
	sentence := "it has no revision. "
	if c.Has > 0 {
		sentence = fmt.Sprintf("it has r%d. ", c.Has)
	}
	if c.Why != "" {
		sentence += c.Why + " "
	}
	return sentence
}

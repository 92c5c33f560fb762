package explain

import (
	"fmt"
	"strings"

	"fairlead.dev/common/prose"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/rollouts"
)

// maxClusters bounds how many clusters are named in one sentence.
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

// withoutEffect says which overriders found nothing to change, and in which clusters: most say the same in all.
func (p *printer) withoutEffect(r *Report) {
	var said []string
	in := map[string][]string{}
	for _, m := range r.Members {
		for _, why := range m.WithoutEffect {
			if in[why] == nil {
				said = append(said, why)
			}
			in[why] = append(in[why], m.Cluster)
		}
	}
	if len(said) == 0 {
		return
	}
	p.line("")
	p.line("Overriders without effect:")
	for _, why := range said {
		p.line("  %s (in %s)", why, prose.Names(in[why], maxClusters))
	}
}

// pods says of the clusters in which the object is not healthy why its pods are not ready.
func (p *printer) pods(r *Report) {
	said := false
	for _, m := range r.Members {
		for i := range m.PodReasons {
			if !said {
				p.line("")
				p.line("Why pods are not ready:")
				p.row("CLUSTER", "POD", "REASON")
				said = true
			}
			p.row(m.Cluster, m.PodReasons[i].Pod, applications.Unready(&m.PodReasons[i]))
		}
	}
}

// revisionOf says which revision a cluster has, and what holds it there.
func revisionOf(c *rollouts.Cluster) string {
	said := "it has no revision. "
	if c.Has > 0 {
		said = fmt.Sprintf("it has r%d. ", c.Has)
	}
	if c.Why != "" {
		said += c.Why + " "
	}
	return said
}

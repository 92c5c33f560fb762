package explain

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/prose"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/rollouts"
)

// maxClusters is how many clusters are named of those of which the same is to be said.
const maxClusters = 3

// Write writes a report for people. The time is now.
func Write(w io.Writer, r *Report, now time.Time) error {
	p := printer{tabs: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), now: now}
	p.line("%s (%s)", r.Template, r.Template.APIVersion)
	for _, s := range r.State {
		p.line("  %s", s)
	}
	p.policies(r)
	p.clusters(r)
	p.moves(r)
	p.rollout(r)
	p.members(r)
	p.withoutEffect(r)
	p.pods(r)
	if r.Advice != "" {
		p.line("")
		p.line("Next: %s", r.Advice)
	}
	if err := p.tabs.Flush(); err != nil {
		return fmt.Errorf("writing the explanation: %w", err)
	}
	return p.err
}

type printer struct {
	tabs *tabwriter.Writer
	now  time.Time
	err  error
}

// line writes one line, whatever breaks are in what is told.
func (p *printer) line(format string, args ...any) {
	text := strings.ReplaceAll(prose.Printable(fmt.Sprintf(format, args...)), "\n", " ")
	if _, err := fmt.Fprintln(p.tabs, text); err != nil && p.err == nil {
		p.err = err
	}
}

// row is a line of a table; an empty cell is a dash.
func (p *printer) row(cells ...string) {
	for i, c := range cells {
		if c == "" {
			cells[i] = "-"
		}
	}
	p.line("  %s", strings.Join(cells, "\t"))
}

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

func (p *printer) moves(r *Report) {
	if len(r.Moves) == 0 {
		return
	}
	p.line("")
	for i := range r.Moves {
		p.line("%s", p.move(&r.Moves[i]))
	}
}

// move says in a sentence what became of a copy.
func (p *printer) move(m *Move) string {
	said := "Leaving " + m.From + " since " + p.clock(m.At)
	switch {
	case m.How == workv1alpha2.EvictionReturned:
		said = "Stayed in " + m.From + " after all, which it was to leave at " + p.clock(m.At)
	case len(m.To) > 0:
		said = "Moved from " + m.From + " to " + strings.Join(m.To, ", ") + " at " + p.clock(m.At)
	case m.Ended != nil:
		said = "Left " + m.From + " at " + p.clock(m.At)
	}
	if because := strings.TrimSuffix(m.Because, "."); because != "" {
		said += " because " + strings.ToLower(because[:1]) + because[1:]
	}
	switch {
	case m.Waiting != "":
		return said + "; " + m.Waiting + "."
	case m.Ended != nil:
		return said + "; over at " + p.clock(*m.Ended) + " (" + m.How + ")."
	default:
		return said + "."
	}
}

// clock says when something was, by the clock of who asks.
func (p *printer) clock(t metav1.Time) string {
	at := t.In(p.now.Location())
	if p.now.Sub(at) < 24*time.Hour && at.Day() == p.now.Day() {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// rollout says how the changes reach the clusters, if they do in waves.
func (p *printer) rollout(r *Report) {
	if r.Rollout == nil {
		return
	}
	p.line("")
	p.line("Rollout by the strategy %s: %s", r.Rollout.Strategy, r.Rollout.Line)
	for _, sentence := range []string{r.Rollout.Waits, r.Rollout.Behind} {
		if sentence != "" {
			p.line("  %s", sentence)
		}
	}
}

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
		clusters, more := in[why], ""
		if n := len(clusters) - maxClusters; n > 0 {
			clusters, more = clusters[:maxClusters], fmt.Sprintf(" and %d more", n)
		}
		p.line("  %s (in %s%s)", why, strings.Join(clusters, ", "), more)
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

func (p *printer) since(t *metav1.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return duration.HumanDuration(p.now.Sub(t.Time))
}

func (p *printer) ago(t *metav1.Time) string {
	if since := p.since(t); since != "" {
		return ", " + since + " ago"
	}
	return ""
}

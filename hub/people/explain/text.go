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
)

// Write writes a report as text. Now is the present time.
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

// line writes one line; line breaks in texts become spaces.
func (p *printer) line(format string, args ...any) {
	text := strings.ReplaceAll(prose.Printable(fmt.Sprintf(format, args...)), "\n", " ")
	if _, err := fmt.Fprintln(p.tabs, text); err != nil && p.err == nil {
		p.err = err
	}
}

// row writes a row of a table; an empty cell becomes a dash.
func (p *printer) row(cells ...string) {
	for i, c := range cells {
		if c == "" {
			cells[i] = "-"
		}
	}
	p.line("  %s", strings.Join(cells, "\t"))
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

// move describes an eviction in a sentence.
func (p *printer) move(m *Move) string {
	sentence := "Leaving " + m.From + " since " + p.clock(m.At)
	switch {
	case m.How == workv1alpha2.EvictionReturned:
		sentence = "Stayed in " + m.From + " after all, which it was to leave at " + p.clock(m.At)
	case len(m.To) > 0:
		sentence = "Moved from " + m.From + " to " + strings.Join(m.To, ", ") + " at " + p.clock(m.At)
	case m.Ended != nil:
		sentence = "Left " + m.From + " at " + p.clock(m.At)
	}
	if because := strings.TrimSuffix(m.Because, "."); because != "" {
		sentence += " because " + strings.ToLower(because[:1]) + because[1:]
	}
	switch {
	case m.Waiting != "":
		return sentence + "; " + m.Waiting + "."
	case m.Ended != nil:
		return sentence + "; over at " + p.clock(*m.Ended) + " (" + m.How + ")."
	default:
		return sentence + "."
	}
}

// clock formats a time in the reader's time zone.
func (p *printer) clock(t metav1.Time) string {
	at := t.In(p.now.Location())
	if p.now.Sub(at) < 24*time.Hour && at.Day() == p.now.Day() {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// rollout describes the staged rollout, if there is one.
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

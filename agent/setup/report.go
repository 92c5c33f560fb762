package setup

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/agent/connect"
	"fairlead.dev/agent/execution"
	"fairlead.dev/agent/journal"
	"fairlead.dev/agent/outage"
	"fairlead.dev/agent/status"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/prose"
)

// hangTimeout is for how long an agent may not try to renew its lease at least.
const hangTimeout = 2 * time.Minute

// Report is what a running agent says of itself.
type Report struct {
	// Cluster is the name of the member on the hub, Hub where the hub is.
	Cluster string `json:"cluster"`
	Hub     string `json:"hub"`
	// Started is when the agent started, Time when it says this.
	Started time.Time `json:"started"`
	Time    time.Time `json:"time"`
	// Heard is when the hub was heard last; zero if it was not since the start. Silence is
	// why it is not heard now; empty if it is.
	Heard   time.Time `json:"heard,omitzero"`
	Silence string    `json:"silence,omitempty"`
	// Refused is since when the hub refuses this agent; zero if it does not.
	Refused time.Time `json:"refused,omitzero"`
	// Ready says whether the member's API is ready, Member what it said.
	Ready  bool   `json:"ready"`
	Member string `json:"member,omitempty"`
	// Works are the Works that the agent acts on.
	Works status.Summary `json:"works"`
	// Drift counts the changes in the member that were put back since the start.
	Drift int64 `json:"drift"`
	// Unclaimed counts the objects in the member that no Work claims.
	Unclaimed int `json:"unclaimed"`
	// Held is why nothing is deleted; empty if it is.
	Held string `json:"held,omitempty"`
	// Line is that to the hub, over which operators reach the member; nil if none is to be kept.
	Line *LineReport `json:"line,omitempty"`
}

// LineReport says how the line to the hub is.
type LineReport struct {
	// Up says that it is open, Since when that became so, or stopped to be so; zero if it never was.
	Up    bool      `json:"up"`
	Since time.Time `json:"since,omitzero"`
	// Reason is why none could be opened when that was last tried.
	Reason string `json:"reason,omitempty"`
}

// hubContact is what is known for a Report.
type hubContact struct {
	options  Options
	clock    clock.Clock
	started  time.Time
	reporter *status.Reporter
	executor *execution.Reconciler
	line     *connect.State // nil if there is never one
	// outage tells when the lease is renewed again.
	outage *outage.Outage

	mu      sync.Mutex
	tried   time.Time
	heard   time.Time
	silence string
	member  metav1.Condition
}

func newHubContact(o Options) *hubContact {
	return &hubContact{
		options: o, clock: o.Clock, started: o.Clock.Now(), outage: outage.New(), silence: "it was not heard since the agent started",
	}
}

// Renewed takes over what came of renewing the lease, which is asked of the hub all the time.
func (s *hubContact) Renewed(err error) {
	defer s.outage.Tell(err) // who is woken asks how it is, for which the lock is to be free
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = s.clock.Now()
	if err != nil {
		s.silence = err.Error()
		return
	}
	s.heard, s.silence = s.tried, ""
}

// Heard takes over that the hub hears the agent by the line, so that the lease need not be renewed now. If the last
// renewal failed, that remains to be told.
func (s *hubContact) Heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = s.clock.Now()
	if s.silence == "" {
		s.heard = s.tried
	}
}

// addTo serves what is known: at the socket, and to probes.
func (s *hubContact) addTo(mgr manager.Manager) error {
	if err := mgr.Add(manager.RunnableFunc(s.answer)); err != nil {
		return fmt.Errorf("adding the socket: %w", err)
	}
	if err := mgr.AddHealthzCheck("lease", func(*http.Request) error { return s.alive() }); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("lease", func(*http.Request) error { return s.ready() }); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return nil
}

// alive says that the agent does not even try to renew its lease any more, whether the hub
// answers or not: it hangs.
func (s *hubContact) alive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.tried
	if last.IsZero() {
		last = s.started
	}
	if still := s.clock.Since(last); still > max(hangTimeout, 2*s.options.LeaseDuration) {
		return fmt.Errorf("the lease was not tried to be renewed for %s: the agent hangs", still.Round(time.Second))
	}
	return nil
}

// ready says that the hub does not hear the agent, or no longer.
func (s *hubContact) ready() error {
	if silent, why := s.Silent(); why != "" && silent > s.options.LeaseDuration {
		return fmt.Errorf("the hub was not heard for %s: %s", silent.Round(time.Second), why)
	}
	return nil
}

// Probed takes over whether the member is ready.
func (s *hubContact) Probed(ready metav1.Condition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.member = ready
}

// Silent says for how long the hub was not heard, and why; 0 if it is.
func (s *hubContact) Silent() (time.Duration, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silence == "" {
		return 0, ""
	}
	since := s.heard
	if since.IsZero() {
		since = s.started
	}
	return s.clock.Since(since), s.silence
}

// isHeard says whether the hub hears the agent.
func (s *hubContact) isHeard() bool {
	_, silence := s.Silent()
	return silence == ""
}

// Report says it all.
func (s *hubContact) Report() Report {
	out := Report{
		Cluster: s.options.Cluster, Hub: s.options.Hub.Host, Started: s.started, Time: s.clock.Now(),
		Works: s.reporter.Summary(), Drift: s.executor.Drifts(), Unclaimed: s.executor.Unclaimed(),
	}
	if held, ok := s.executor.Held(); ok && held.Status == metav1.ConditionTrue {
		out.Held = held.Message
	}
	if s.line != nil {
		now, _ := s.line.Now()
		out.Line = &LineReport{Up: now.Up, Since: now.Opened, Reason: s.line.Reason()}
		if !now.Up {
			out.Line.Since = now.Lost
		}
	}
	if s.options.Refused != nil {
		out.Refused, _ = s.options.Refused()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Heard, out.Silence = s.heard, s.silence
	out.Ready, out.Member = s.member.Status == metav1.ConditionTrue, s.member.Message
	return out
}

// noLineGrace is for how long an agent has no line until the hub is told why: lines are opened anew all the time.
const noLineGrace = time.Minute

// maxNoLine bounds what the hub is told of that, in bytes.
const maxNoLine = 300

// noLine is why there is no line to the hub; empty if there is one, or if that may not last.
func (s *hubContact) noLine() string {
	if s.line == nil {
		return s.options.Line.None
	}
	line, _ := s.line.Now()
	return whyNoLine(line, s.line.Reason(), s.started, s.clock.Now())
}

// whyNoLine is a reason for the hub if there has been no line since a minute ago, or since the agent started.
func whyNoLine(line connect.Line, reason string, started, now time.Time) string {
	since := line.Lost
	if since.IsZero() {
		since = started
	}
	if line.Up || now.Sub(since) < noLineGrace {
		return ""
	}
	return prose.Cut(strings.ToValidUTF8(reason, "?"), maxNoLine)
}

// counted is what the hub is told of the agent itself. The journal may be nil.
func (s *hubContact) counted(j *journal.Journal) clusterv1alpha1.AgentReport {
	out := clusterv1alpha1.AgentReport{
		Started: metav1.NewTime(s.started), DriftRepaired: s.executor.Drifts(), StuckObjects: bounded32(s.executor.Stuck()), NoLine: s.noLine(),
	}
	if j != nil {
		size := j.Size()
		out.Journal = &clusterv1alpha1.JournalReport{Works: bounded32(size.Works), Bytes: size.Bytes, Failing: size.Failing}
	}
	if s.options.Traffic != nil {
		out.SentBytes, out.ReceivedBytes = s.options.Traffic()
	}
	return out
}

func bounded32(n int) int32 { return int32(min(n, math.MaxInt32)) }

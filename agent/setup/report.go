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
	"fairlead.dev/common/kube"
	"fairlead.dev/common/prose"
)

// hangTimeout is the minimum time without an attempt to renew the lease from which the agent counts as hanging.
const hangTimeout = 2 * time.Minute

// Report is a running agent's report about itself.
type Report struct {
	// Cluster is the name of the member on the hub, Hub the hub's address.
	Cluster string `json:"cluster"`
	Hub     string `json:"hub"`
	// Started is when the agent started, Time when it made this report.
	Started time.Time `json:"started"`
	Time    time.Time `json:"time"`
	// Heard is when the hub last answered; zero if it has not since the start. Silence is why it does not answer now;
	// empty if it does.
	Heard   time.Time `json:"heard,omitzero"`
	Silence string    `json:"silence,omitempty"`
	// Refused is since when the hub refuses this agent; zero if it does not.
	Refused time.Time `json:"refused,omitzero"`
	// Ready says whether the member's API is ready, Member what it answered.
	Ready  bool   `json:"ready"`
	Member string `json:"member,omitempty"`
	// Works summarizes the Works.
	Works status.Summary `json:"works"`
	// Drift counts the changes in the member that were corrected since the start.
	Drift int64 `json:"drift"`
	// Unclaimed counts the member's managed objects that no Work claims.
	Unclaimed int `json:"unclaimed"`
	// Held is why deletions are held back; empty if they are not.
	Held string `json:"held,omitempty"`
	// Line describes the line to the hub, over which operators reach the member; nil if none is opened.
	Line *LineReport `json:"line,omitempty"`
}

// LineReport describes the line to the hub.
type LineReport struct {
	// Up says whether it is open, Since when that last changed; zero if it never was open.
	Up    bool      `json:"up"`
	Since time.Time `json:"since,omitzero"`
	// Reason is why the last attempt to open one failed.
	Reason string `json:"reason,omitempty"`
}

// hubContact tracks the agent's contact with the hub, for Reports and probes.
type hubContact struct {
	options  Options
	clock    clock.Clock
	started  time.Time
	reporter *status.Reporter
	executor *execution.Reconciler
	line     *connect.State // nil if no line is opened
	// outage signals when the lease can be renewed again.
	outage *outage.Outage

	mu      sync.Mutex
	tried   time.Time
	heard   time.Time
	silence string
	member  metav1.Condition
}

func newHubContact(o Options) *hubContact {
	return &hubContact{
		options: o, clock: o.Clock, started: o.Clock.Now(), outage: outage.New(), silence: "it has not answered since the agent started",
	}
}

// Renewed records the result of a renewal of the lease, the hub's most frequent request.
func (s *hubContact) Renewed(err error) {
	defer s.outage.Tell(err) // after unlocking, since whoever is woken calls methods of s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = s.clock.Now()
	if err != nil {
		s.silence = err.Error()
		return
	}
	s.heard, s.silence = s.tried, ""
}

// Heard records that the line is the heartbeat, so that the lease need not be renewed now. If the last renewal
// failed, that remains reported.
func (s *hubContact) Heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = s.clock.Now()
	if s.silence == "" {
		s.heard = s.tried
	}
}

// addTo serves the report on the socket, and the probes.
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

// alive returns an error if the agent no longer even tries to renew its lease, whether or not the hub answers: it
// hangs.
func (s *hubContact) alive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.tried
	if last.IsZero() {
		last = s.started
	}
	if still := s.clock.Since(last); still > max(hangTimeout, 2*s.options.LeaseDuration) {
		return fmt.Errorf("the agent hangs: it has not tried to renew its lease for %s", still.Round(time.Second))
	}
	return nil
}

// ready returns an error if the agent has no contact with the hub.
func (s *hubContact) ready() error {
	if silent, why := s.Silent(); why != "" && silent > s.options.LeaseDuration {
		return fmt.Errorf("the hub has not answered for %s: %s", silent.Round(time.Second), why)
	}
	return nil
}

// Probed records whether the member is ready.
func (s *hubContact) Probed(ready metav1.Condition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.member = ready
}

// Silent returns for how long the hub has not answered, and why; 0 if it answers.
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

// isHeard returns whether the hub answers the agent.
func (s *hubContact) isHeard() bool {
	_, silence := s.Silent()
	return silence == ""
}

// Report returns the present report.
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

// noLineGrace is how long there has to be no line before the hub is told why: lines are reopened all the time.
const noLineGrace = time.Minute

// maxNoLine bounds that reason, in bytes.
const maxNoLine = 300

// noLine returns why there is no line to the hub; empty if there is one, or if its absence may be brief.
func (s *hubContact) noLine() string {
	if s.line == nil {
		return s.options.Line.None
	}
	line, _ := s.line.Now()
	return whyNoLine(line, s.line.Reason(), s.started, s.clock.Now())
}

// whyNoLine returns the reason if there has been no line for noLineGrace, counted from the agent's start at the
// earliest.
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

// counted returns the agent's own counters for the hub. The journal may be nil.
func (s *hubContact) counted(j *journal.Journal) clusterv1alpha1.AgentReport {
	out := clusterv1alpha1.AgentReport{
		Started: metav1.NewTime(s.started), DriftRepaired: s.executor.Drifts(), StuckObjects: bounded32(s.executor.Stuck()), NoLine: s.noLine(),
	}
	if j != nil {
		size := j.Size()
		out.Journal = &clusterv1alpha1.JournalReport{Works: bounded32(size.Works), Bytes: size.Bytes, Failing: size.Failing}
	}
	// The client that uses the certificate reports it if it cannot be read.
	if cert, err := kube.ClientCertificate(s.options.Member); err == nil && cert != nil {
		out.MemberCertificateBegins = new(metav1.NewTime(cert.NotBefore).Rfc3339Copy())
		out.MemberCertificateExpires = new(metav1.NewTime(cert.NotAfter).Rfc3339Copy())
	}
	if s.options.Traffic != nil {
		out.SentBytes, out.ReceivedBytes = s.options.Traffic()
	}
	return out
}

func bounded32(n int) int32 { return int32(min(n, math.MaxInt32)) }

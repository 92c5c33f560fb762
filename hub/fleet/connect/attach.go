package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
	"fairlead.dev/common/line/headers"
	"fairlead.dev/common/prose"
	"fairlead.dev/hub/fleet/connect/admit"
	"fairlead.dev/hub/fleet/connect/lines"
)

// The lifetime and supervision of lines.
const (
	// maxAge is the age at which an agent should replace its line, and ageGrace is how long it may take.
	maxAge   = 24 * time.Hour
	ageGrace = 10 * time.Minute
	// replacedMost is how long a replaced line may stay for its open streams.
	replacedMost = 8 * time.Hour
	// selfEvery is how often an agent is asked whether it is healthy, since a ping only proves that the process exists.
	// After selfMisses failures in a row, the line is ended.
	selfEvery   = time.Minute
	selfTimeout = 10 * time.Second
	selfMisses  = 2
	// rightsEvery is how often the agent's right to have a line is checked, in multiples of selfEvery.
	rightsEvery = 5
	// slowestPing is the upper bound of a ping timeout.
	slowestPing = 15 * time.Second
	// rushAge is the maxAge of a line opened in a rush: its ping timeout is longer than needed later, so it is replaced
	// sooner.
	rushAge = time.Hour
	// handshakeTimeout bounds the write of the response that opens a line.
	handshakeTimeout = 10 * time.Second
	// maxTold bounds the length, in bytes, of a header from an agent.
	maxTold = 200
	// linesKept is how many lines a cluster may have: the newest, and the previous one until it ends. linesLeaving also
	// counts those that have said goodbye and stay for their open streams.
	linesKept    = 2
	linesLeaving = 8
)

// attach opens the line of a cluster for its agent.
func (s *Server) attach(w http.ResponseWriter, r *http.Request, name string, who caller) {
	refuse := func(reason metav1.StatusReason, retry time.Duration, format string, args ...any) {
		why := refusal{reason: reason, message: fmt.Sprintf(format, args...), cluster: name, retry: retry}
		s.Log.V(1).Info("Refusing a line", "Cluster", name, "user", who.name, "reason", why.message)
		s.refuse(w, r, why)
	}
	cluster, no := s.admitted(r, name, who)
	if no != nil {
		refuse(no.reason, no.retry, "%s", no.message)
		return
	}
	arrived, ok := s.arrivals.Acquire(name, s.Clock.Now())
	if !ok {
		refuse(metav1.StatusReasonTooManyRequests, retryAfter(5*time.Second), "the agent of %s opens lines too often, or two at a time: wait a moment", name)
		return
	}
	defer arrived()
	if s.isDraining() || !s.handshakes.AllowN(s.Clock.Now(), 1) {
		refuse(metav1.StatusReasonServiceUnavailable, retryAfter(5*time.Second), "this hub accepts no line at the moment")
		return
	}
	session := sessionOf(r.Header)
	taken, err := s.isTaken(r.Context(), name, session)
	switch {
	case r.Context().Err() != nil:
		return // the agent has hung up
	case taken:
		refuse(metav1.StatusReasonConflict, 0, "another agent of %s has a line and answers: stop one of them, or, if there should be only one, let the member join again with a new token", name)
		return
	case err != nil:
		refuse(metav1.StatusReasonServiceUnavailable, retryAfter(10*time.Second), "another agent of %s has had a line a moment ago, and the hub cannot find out whether it still has one: %v", name, err)
		return
	}
	done, ok := s.beginOpening()
	if !ok { // it started to drain a moment ago
		refuse(metav1.StatusReasonServiceUnavailable, retryAfter(5*time.Second), "this hub accepts no line at the moment")
		return
	}
	defer done()
	terms := s.terms(r.Header)
	opened, err := s.openLine(w, r, name, session, terms)
	if err != nil {
		s.Log.V(1).Info("Could not open a line", "Cluster", name, "reason", err.Error())
		return
	}
	arrived()
	s.recordOpened(r.Context(), opened, terms)
	until := admit.End(admit.Lifetime{
		Opened: s.Clock.Now(), MaxAge: terms.maxAge + ageGrace, Credential: who.credential(), ClaimedExpiry: r.Header.Get(contract.LineNotAfterHeader), Annotations: cluster.Annotations,
	})
	// The request ends here, so that the server frees its buffers, headers and stack. The line goes on.
	ctx := context.WithoutCancel(r.Context())
	s.keepers.Go(func() { s.superviseLine(ctx, opened, who, until) })
}

// recordOpened ends the surplus lines of the cluster beside one that was opened, and tells its agent what has changed since it was answered.
func (s *Server) recordOpened(ctx context.Context, opened *lines.Line, terms terms) {
	for _, old := range surplusLines(s.Lines.Lines(opened.Cluster)) {
		_ = old.Client.Close() // an error only means that the line has ended
	}
	if later := s.Presence(); later != terms.presence {
		s.tellPresence(ctx, opened, later) // the presence changed after the agent was answered, and before the line was registered
	}
	s.metrics.opened.Inc()
	s.Log.Info("An agent has opened its line", "Cluster", opened.Cluster)
}

// admitted returns the Cluster of an agent that may open its line, or why it may not.
func (s *Server) admitted(r *http.Request, name string, who caller) (*clusterv1alpha1.Cluster, *refusal) {
	if r.Method != http.MethodPost || !strings.EqualFold(headers.Upgrade(r.Header), contract.LineProtocol) {
		return nil, &refusal{reason: metav1.StatusReasonBadRequest, message: "a line is opened by a POST that upgrades to " + contract.LineProtocol}
	}
	cluster, err := s.cluster(r.Context(), name)
	if client.IgnoreNotFound(err) != nil {
		return nil, &refusal{
			reason: metav1.StatusReasonServiceUnavailable, retry: retryAfter(5 * time.Second), message: fmt.Sprintf("reading the cluster %s: %v", name, err),
		}
	}
	if no := admit.Open(name, admit.Agent{User: who.name, Groups: who.groups}, admissionFacts(cluster)); no != nil {
		return nil, &refusal{reason: no.Reason, message: no.Message}
	}
	return cluster, nil
}

// terms are the terms of a line.
type terms struct {
	// presence is what the agent must use as its heartbeat.
	presence string
	// ping is the idle time after which the agent is pinged, and pingTimeout how long it may take to respond.
	ping, pingTimeout time.Duration
	// maxAge is the age at which the agent should replace the line.
	maxAge time.Duration
}

// terms returns the terms of a line that is opened now. When thousands of agents return at once, the hub and its API
// respond late for a while, also to pings on lines that are already open again. If these lines timed out, their agents
// would reopen them, and prolong the rush.
func (s *Server) terms(asked http.Header) terms {
	ping := pingOf(asked.Get(contract.LinePingHeader))
	out := terms{presence: s.Presence(), ping: ping, pingTimeout: pingTimeoutOf(ping), maxAge: maxAge}
	if !s.usual.AllowN(s.Clock.Now(), 1) {
		out.pingTimeout, out.maxAge = slowestPing, rushAge
	}
	return out
}

// openLine turns the connection of an admitted request into a line.
func (s *Server) openLine(w http.ResponseWriter, r *http.Request, name, session string, terms terms) (*lines.Line, error) {
	conn, err := s.upgrade(w, terms)
	if err != nil {
		return nil, err
	}
	lineClient, err := line.NewClient(r.Context(), conn, line.ClientOptions{Ping: terms.ping, PingTimeout: terms.pingTimeout})
	if err != nil {
		return nil, err
	}
	return s.Lines.Open(name, lineClient, lines.Info{
		Session: session, Operators: displayText(r.Header.Get(contract.LineOperatorsHeader)), Presence: terms.presence,
	}, s.Clock.Now()), nil
}

// surplusLines returns the lines of a cluster beyond the number that a correct agent needs. The last of all is the
// newest.
func surplusLines(all []*lines.Line) []*lines.Line {
	var out []*lines.Line
	kept := 0
	for i, l := range slices.Backward(all) {
		if leaving := isLeaving(l.Client); len(all)-i > linesLeaving || !leaving && kept == linesKept {
			out = append(out, l)
		} else if !leaving {
			kept++
		}
	}
	return out
}

// admissionFacts returns what the admission of an agent depends on.
func admissionFacts(cluster *clusterv1alpha1.Cluster) admit.Cluster {
	return admit.Cluster{Found: cluster.UID != "", Deleting: !cluster.DeletionTimestamp.IsZero(), Annotations: cluster.Annotations}
}

// pingOf returns the idle time after which an agent is pinged: what it asked for, but not less than the default, and
// not more than the interval of the health check.
func pingOf(said string) time.Duration {
	wanted, err := time.ParseDuration(said)
	if err != nil {
		return line.DefaultPing
	}
	return max(min(wanted, selfEvery), line.DefaultPing)
}

// pingTimeoutOf returns how long the response to a ping may take. An agent that asks for rare pings has a slow network,
// on which the response queues behind other data.
func pingTimeoutOf(ping time.Duration) time.Duration {
	return min(max(ping/2, line.DefaultPingTimeout), slowestPing)
}

// displayText returns text from an agent in a form that is safe to show: printable, on one line, and at most maxTold bytes long.
func displayText(value string) string {
	value = prose.OneLine(strings.ReplaceAll(value, "\uFFFD", ""))
	return strings.ToValidUTF8(value[:min(len(value), maxTold)], "")
}

// upgrade responds that the line is open, with its terms, and returns the connection.
func (s *Server) upgrade(w http.ResponseWriter, terms terms) (net.Conn, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("taking over the connection: %w", err)
	}
	if err = conn.SetDeadline(s.Clock.Now().Add(handshakeTimeout)); err == nil {
		_, err = fmt.Fprintf(buffered, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n\r\n",
			contract.LineProtocol, contract.LineReplicaHeader, s.Replica, contract.LinePingHeader, terms.ping,
			contract.LinePresenceHeader, terms.presence, contract.LineMaxAgeHeader, terms.maxAge)
	}
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("answering an agent that opens its line: %w", err), conn.Close())
	}
	return line.Buffered(conn, buffered.Reader), nil
}

// errUnhealthy says that an agent reported that it is unhealthy.
var errUnhealthy = errors.New("the agent says")

// askAgent sends one of the hub's own requests to an agent, and returns an error unless it succeeds.
func askAgent(ctx context.Context, through http.RoundTripper, method, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://line"+path, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking the agent: %w", err)
	}
	resp, err := through.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("asking the agent: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxTold))
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%w: %s (%d)", errUnhealthy, displayText(string(said)), resp.StatusCode)
	}
	return nil
}

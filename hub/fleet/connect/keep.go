package connect

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
	"fairlead.dev/hub/fleet/connect/admit"
	"fairlead.dev/hub/fleet/connect/lines"
)

// superviseLine supervises a line until it ends: it checks the agent's health and rights, its Cluster, and the age of
// the line.
func (s *Server) superviseLine(ctx context.Context, l *lines.Line, who caller, until time.Time) {
	v := &supervision{server: s, line: l, who: who, log: s.Log.WithValues("Cluster", l.Cluster)}
	changed, stop := s.open.watch(l.Cluster)
	defer stop()
	s.endUnlessAdmitted(ctx, l, who) // the cluster may have been forgotten during the handshake
	if s.Peers != nil {
		go s.keepBesideOthers(ctx, l) // returns when the line ends
	}
	ticker := s.Clock.NewTicker(selfEvery)
	defer ticker.Stop()
	expiry := s.Clock.NewTimer(until.Sub(s.Clock.Now()))
	defer expiry.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	draining := s.draining
	for {
		select {
		case <-l.Client.Done():
			v.recordEnd()
			return
		case <-draining:
			draining = nil
			go replaceLine(ctx, l) // returns when the line ends
		case <-s.ending:
			_ = l.Client.Close() // an error only means that the line has ended
		case <-changed:
			s.endUnlessAdmitted(ctx, l, who)
		case <-expiry.C():
			v.log.Info("Ending a line, the certificate of the agent or the line itself is too old")
			_ = l.Client.Close()
		case <-ticker.C():
			v.tick(ctx)
		case well := <-v.asking:
			v.recordHealth(well)
		}
	}
}

// supervision is the state of the supervision of one line. One goroutine uses it.
type supervision struct {
	server *Server
	line   *lines.Line
	who    caller
	log    logr.Logger
	// replaced is when a newer line of the cluster was first seen; zero while this is the newest.
	replaced time.Time
	// asking receives whether the agent is healthy; nil unless a check is running.
	asking chan bool
	// misses counts the failed health checks since the last that succeeded, ticks the periodic checks.
	misses, ticks int
}

// recordEnd records that the line has ended.
func (v *supervision) recordEnd() {
	err := v.line.Client.Err()
	// A line that moved to another replica was not lost, like one that said goodbye.
	goodbye := errors.Is(err, line.ErrGoodbye) || errors.Is(err, line.ErrReplaced)
	v.server.Lines.Ended(v.line, goodbye, v.server.Clock.Now())
	v.log.Info("The line of an agent has ended", "reason", reasonOf(err))
}

// tick does the periodic checks: it ends a line that was replaced, or begins a health check and, now and then, checks
// the agent's rights.
func (v *supervision) tick(ctx context.Context) {
	v.ticks++
	if v.isUnneeded() {
		_ = v.line.Client.Close()
		return
	}
	if v.asking == nil && !isLeaving(v.line.Client) {
		v.asking = make(chan bool, 1)
		go func(to chan<- bool) { to <- v.server.isWell(ctx, v.line) }(v.asking)
	}
	if v.ticks%rightsEvery == 0 {
		v.server.endWithoutRight(ctx, v.line, v.who)
	}
}

// isUnneeded says whether the cluster has a newer line, and this one has no streams or was replaced long ago.
func (v *supervision) isUnneeded() bool {
	now := v.server.Clock.Now()
	if newest := v.server.Lines.Newest(v.line.Cluster); newest == v.line {
		v.replaced = time.Time{}
	} else if v.replaced.IsZero() {
		v.replaced = now
	}
	return !v.replaced.IsZero() && (v.line.Client.Streams() == 0 || now.Sub(v.replaced) > replacedMost)
}

// recordHealth counts the result of a health check, and ends the line of an agent that failed several in a row.
func (v *supervision) recordHealth(well bool) {
	v.asking = nil
	if v.misses++; well {
		v.misses = 0
	}
	if v.misses >= selfMisses {
		v.log.Info("Ending a line, the agent answers pings, but is not healthy")
		_ = v.line.Client.Close()
	}
}

// isWell checks whether an agent is healthy: it responds, and reaches the hub's API. A line that accepts no more
// requests cannot be checked, and counts as healthy.
func (s *Server) isWell(ctx context.Context, l *lines.Line) bool {
	ctx, cancel := context.WithTimeout(ctx, selfTimeout)
	defer cancel()
	err := askAgent(ctx, l.Client, http.MethodGet, contract.LineSelfPath, "")
	return err == nil || errors.Is(err, line.ErrLeaving) || errors.Is(err, line.ErrFull)
}

// endUnlessAdmitted ends a line whose cluster no longer exists, or whose agent has been superseded by a new join.
func (s *Server) endUnlessAdmitted(ctx context.Context, l *lines.Line, who caller) {
	cluster, err := s.cluster(ctx, l.Cluster)
	if client.IgnoreNotFound(err) != nil {
		return // the next check decides
	}
	no := admit.Open(l.Cluster, admit.Agent{User: who.name, Groups: who.groups}, admissionFacts(cluster))
	if no == nil {
		return
	}
	s.Log.Info("Ending a line", "Cluster", l.Cluster, "reason", no.Message)
	_ = l.Client.Close()
}

// endWithoutRight ends a line whose agent has lost the right to open one.
func (s *Server) endWithoutRight(ctx context.Context, l *lines.Line, who caller) {
	s.endUnlessAdmitted(ctx, l, who)
	ctx, cancel := context.WithTimeout(ctx, selfTimeout)
	defer cancel()
	may, err := s.Review(ctx, who.may("create", contract.LinesResource, contract.AttachSubresource, l.Cluster))
	if err != nil || may {
		return // if the API server does not respond, the agent keeps its rights
	}
	s.Log.Info("Ending a line, its agent has no right to one any more", "Cluster", l.Cluster)
	_ = l.Client.Close()
}

func reasonOf(err error) string {
	if err == nil {
		return "it was closed"
	}
	return err.Error()
}

package connect

import (
	"context"
	"errors"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
	"fairlead.dev/hub/fleet/connect/admit"
	"fairlead.dev/hub/fleet/connect/lines"
)

// superviseLine supervises a line until it ends: it checks the agent's health and rights, its Cluster, and the age of
// the line.
func (s *Server) superviseLine(ctx context.Context, l *lines.Line, who caller, until time.Time) {
	log := s.Log.WithValues("Cluster", l.Cluster)
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
	var replaced time.Time
	var asking chan bool // receives whether the agent is healthy; nil unless a check is running
	misses, ticks := 0, 0
	for {
		select {
		case <-l.Client.Done():
			// A line that moved to another replica was not lost, like one that said goodbye.
			goodbye := errors.Is(l.Client.Err(), line.ErrGoodbye) || errors.Is(l.Client.Err(), line.ErrReplaced)
			s.Lines.Ended(l, goodbye, s.Clock.Now())
			log.Info("The line of an agent has ended", "reason", reasonOf(l.Client.Err()))
			return
		case <-draining:
			draining = nil
			go replaceLine(ctx, l) // returns when the line ends
		case <-s.ending:
			_ = l.Client.Close() // an error only means that the line has ended
		case <-changed:
			s.endUnlessAdmitted(ctx, l, who)
		case <-expiry.C():
			log.Info("Ending a line, the certificate of the agent or the line itself is too old")
			_ = l.Client.Close()
		case <-ticker.C():
			ticks++
			now := s.Clock.Now()
			if newest := s.Lines.Newest(l.Cluster); newest == l {
				replaced = time.Time{}
			} else if replaced.IsZero() {
				replaced = now
			}
			if !replaced.IsZero() && (l.Client.Streams() == 0 || now.Sub(replaced) > replacedMost) {
				_ = l.Client.Close()
				continue
			}
			if asking == nil && !isLeaving(l.Client) {
				asking = make(chan bool, 1)
				go func(to chan<- bool) { to <- s.isWell(ctx, l) }(asking)
			}
			if ticks%rightsEvery == 0 {
				s.endWithoutRight(ctx, l, who)
			}
		case well := <-asking:
			asking = nil
			if misses++; well {
				misses = 0
			}
			if misses >= selfMisses {
				log.Info("Ending a line, the agent answers pings, but is not healthy")
				_ = l.Client.Close()
			}
		}
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

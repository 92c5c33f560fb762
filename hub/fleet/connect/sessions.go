package connect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/fleet/connect/peers/wire"
)

// Several agents may have the same certificate; sessions tell them apart. The first one keeps the line for as long as
// it responds. Their lines may arrive at different replicas of the hub, so before a replica opens a line, it asks the
// others that report another session. Two agents that connect at once, or while the replicas cannot reach each other,
// get a line each; once one replica learns of the other's line, one of the two is ended.
const (
	// otherTimeout is how long another replica may take to say whether its line stays, which includes asking the agent.
	otherTimeout = selfTimeout + 3*time.Second
	// replacedTimeout bounds telling another replica that its line was replaced. replacedMargin is by how much that
	// line must be older: more than the delay of the message, by which the compared ages may be off.
	replacedTimeout = 5 * time.Second
	replacedMargin  = 2 * replacedTimeout
	// endTimeout is how long the end of a broken line may take to be noticed.
	endTimeout = time.Second
)

// sessionOf returns the hash of an agent's session. An agent that sends none counts as a new session.
func sessionOf(h http.Header) string {
	said := displayText(h.Get(contract.LineSessionHeader))
	if said == "" {
		said = newName()
	}
	sum := sha256.Sum256([]byte(said))
	return hex.EncodeToString(sum[:])
}

// isResponsive says whether an agent responds on its line, healthy or not: only one that does not respond gives way to
// another agent. The caller's context may end meanwhile, which says nothing about the agent. (The line of an unhealthy
// agent is ended after a while for another reason: it counts as a heartbeat, see superviseLine.)
func (s *Server) isResponsive(ctx context.Context, l *lines.Line) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), selfTimeout)
	defer cancel()
	err := askAgent(ctx, l.Client, http.MethodGet, contract.LineSelfPath, "")
	if err == nil || errors.Is(err, errUnhealthy) || errors.Is(err, line.ErrFull) { // a busy agent is responsive
		return true
	}
	if errors.Is(err, line.ErrLeaving) {
		return false
	}
	// Any other immediate failure is a refusal by the agent, unless the line has ended.
	select {
	case <-l.Client.Done():
	case <-ctx.Done():
	case <-s.Clock.After(endTimeout):
		return true
	}
	return false
}

// isTaken says whether a line of another session stays, at any replica, so that this session cannot open one. It
// returns an error if that is unknown.
func (s *Server) isTaken(ctx context.Context, cluster, session string) (bool, error) {
	if s.isTakenHere(ctx, cluster, session, time.Time{}) {
		return true, nil
	}
	return s.isTakenElsewhere(ctx, cluster, session, time.Time{}, func(other string) bool { return other != session })
}

// isTakenHere says whether a line of this replica takes precedence over that of another session, and ends those that do
// not. Opened is when the other session's line was opened; zero if it is still to be opened. Lines that accept no more
// requests are left to end with their streams.
func (s *Server) isTakenHere(ctx context.Context, cluster, session string, opened time.Time) bool {
	var all sync.WaitGroup
	var mu sync.Mutex
	taken := false
	for _, l := range s.Lines.Lines(cluster) {
		if l.Session == session || isLeaving(l.Client) {
			continue
		}
		all.Go(func() {
			why := "its agent does not answer, and another one of the cluster does"
			switch {
			case !opened.IsZero() && opened.Before(l.Opened):
				why = "another agent of the cluster has had one at another replica of the hub for longer"
			case s.isResponsive(ctx, l):
				mu.Lock()
				defer mu.Unlock()
				taken = true
				return
			case isLeaving(l.Client):
				return // it has just started to
			}
			s.Log.Info("Ending a line", "Cluster", cluster, "reason", why)
			_ = l.Client.Close() // an error only means that the line has ended
		})
	}
	all.Wait()
	return taken
}

// isTakenElsewhere says whether a line of another replica takes precedence over that of a session. Opened is when the
// session's line was opened; zero if it is still to be opened. It asks the replicas whose session is in the way; these
// end a line that does not stay. It returns an error if one cannot be asked.
func (s *Server) isTakenElsewhere(ctx context.Context, cluster, session string, opened time.Time, inTheWay func(other string) bool) (bool, error) {
	if s.Peers == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, otherTimeout)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	taken := false
	for replica, other := range s.Peers.Sessions(cluster) {
		if !inTheWay(other) {
			continue
		}
		all.Go(func() {
			stays, err := s.askReplica(ctx, replica, cluster, session, opened)
			mu.Lock()
			defer mu.Unlock()
			taken = taken || stays
			if err != nil {
				failed = append(failed, err)
			}
		})
	}
	all.Wait()
	if taken {
		return true, nil
	}
	return false, errors.Join(failed...)
}

// askReplica asks another replica whether its line of a cluster takes precedence over that of a session.
func (s *Server) askReplica(ctx context.Context, replica, cluster, session string, opened time.Time) (stays bool, err error) {
	through := s.Peers.Transport(replica)
	if through == nil {
		return false, nil // it is gone, and its lines have ended
	}
	path := contract.LineAttachPath(cluster)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://line"+path, http.NoBody) //nolint:gosec // The transport connects to the replica, whatever the host.
	if err != nil {
		return false, fmt.Errorf("asking replica %s of the hub: %w", replica, err)
	}
	req.Header.Set(contract.LineSessionHeader, session)
	if !opened.IsZero() {
		req.Header.Set(contract.LineOpenedHeader, max(s.Clock.Now().Sub(opened), 0).String())
	}
	resp, err := through.RoundTrip(req)
	if err != nil {
		return false, fmt.Errorf("asking replica %s of the hub: %w", replica, err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusNoContent:
		return false, nil
	case http.StatusConflict:
		return true, nil
	default:
		return false, fmt.Errorf("asking replica %s of the hub: it answered %d", replica, resp.StatusCode)
	}
}

// serveSession responds to another replica that has a line of a cluster or is about to open one: with a conflict if a
// line of another session stays here. A line of the same session is the older one, and ends once it has no streams.
func (s *Server) serveSession(w http.ResponseWriter, r *http.Request, cluster string) {
	session, age := r.Header.Get(contract.LineSessionHeader), r.Header.Get(contract.LineOpenedHeader)
	var opened time.Time
	if age != "" {
		ago, err := time.ParseDuration(age)
		if err != nil || ago < 0 {
			s.refuse(w, r, refusal{reason: metav1.StatusReasonBadRequest, cluster: cluster, message: fmt.Sprintf("%.70q is not how long ago a line was opened", age)})
			return
		}
		opened = s.Clock.Now().Add(-ago)
	}
	if r.Method != http.MethodPost || !wire.IsSession(session) {
		s.refuse(w, r, refusal{reason: metav1.StatusReasonBadRequest, cluster: cluster, message: "a replica asks by a POST with the hash of a session"})
		return
	}
	if other := func(l *lines.Line) bool { return l.Session != session }; s.isDraining() && slices.ContainsFunc(s.Lines.Lines(cluster), other) {
		s.refuse(w, r, refusal{
			reason: metav1.StatusReasonServiceUnavailable, cluster: cluster, retry: tooMany,
			message: "this replica of the hub ends, and the agent of " + cluster + " is opening its line elsewhere",
		})
		return
	}
	for _, l := range s.Lines.Lines(cluster) {
		if l.Session == session && !isLeaving(l.Client) && l.Opened.Add(replacedMargin).Before(opened) {
			s.retire(r.Context(), l)
		}
	}
	if s.isTakenHere(r.Context(), cluster, session, opened) {
		s.refuse(w, r, refusal{reason: metav1.StatusReasonConflict, cluster: cluster, message: "the line of another agent of " + cluster + " stays"})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// retire lets a line that was replaced at another replica end with its streams. It does not wait.
func (s *Server) retire(ctx context.Context, l *lines.Line) {
	client, ok := l.Client.(interface{ Retire(context.Context) })
	if !ok {
		_ = l.Client.Close() // an error only means that the line has ended
		return
	}
	s.Log.Info("Ending a line with its streams, its agent has opened one at another replica of the hub", "Cluster", l.Cluster)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replacedMost)
	go func() { // ends with the line
		defer cancel()
		client.Retire(ctx)
	}()
}

// keepBesideOthers resolves conflicts between a line and those at other replicas, until the line has ended.
func (s *Server) keepBesideOthers(ctx context.Context, l *lines.Line) {
	changed, stop := s.open.watch(l.Cluster)
	defer stop()
	ticker := s.Clock.NewTicker(selfEvery)
	defer ticker.Stop()
	s.replace(ctx, l)
	// Of two replicas only one asks, the one whose session has the greater hash, and the other decides, so that exactly
	// one line ends. After a while the other asks, too: it may be the only one that knows of both lines.
	later := func(other string) bool { return other < l.Session }
	asks := later
	for {
		s.resolveSessions(ctx, l, asks)
		select {
		case <-l.Client.Done():
			return
		case <-changed:
			asks = later
		case <-ticker.C():
			asks = func(other string) bool { return other != l.Session }
		}
	}
}

// replace tells the other replicas with lines of the same session that this line replaces theirs, once it works.
func (s *Server) replace(ctx context.Context, l *lines.Line) {
	same := func(other string) bool { return other == l.Session }
	if !anyOf(s.Peers.Sessions(l.Cluster), same) || !s.isResponsive(ctx, l) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, replacedTimeout)
	defer cancel()
	if _, err := s.isTakenElsewhere(ctx, l.Cluster, l.Session, l.Opened, same); err != nil {
		// The agent closes that line itself, or does not respond on it.
		s.Log.V(1).Info("Could not tell another replica that its line was replaced", "Cluster", l.Cluster, "reason", err.Error())
	}
}

// resolveSessions ends a line if an agent of another session has one at another replica that stays. It asks the
// replicas whose session is in the way.
func (s *Server) resolveSessions(ctx context.Context, l *lines.Line, inTheWay func(other string) bool) {
	if isLeaving(l.Client) || !anyOf(s.Peers.Sessions(l.Cluster), inTheWay) {
		return
	}
	if !s.isResponsive(ctx, l) {
		if !isLeaving(l.Client) {
			s.Log.Info("Ending a line", "Cluster", l.Cluster, "reason", "its agent does not answer, and another one of the cluster has a line at another replica of the hub")
			_ = l.Client.Close() // an error only means that the line has ended
		}
		return
	}
	taken, err := s.isTakenElsewhere(ctx, l.Cluster, l.Session, l.Opened, inTheWay)
	switch {
	case taken:
		s.Log.Info("Ending a line", "Cluster", l.Cluster, "reason", "another agent of the cluster has one at another replica of the hub, and answers")
		_ = l.Client.Close()
	case err != nil:
		s.Log.V(1).Info("Could not ask whether another agent has a line at another replica of the hub", "Cluster", l.Cluster, "reason", err.Error())
	}
}

func anyOf(sessions map[string]string, is func(string) bool) bool {
	for _, session := range sessions {
		if is(session) {
			return true
		}
	}
	return false
}

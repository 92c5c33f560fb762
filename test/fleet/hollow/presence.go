package hollow

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/agent/connect"
	"fairlead.dev/agent/presence"
	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
)

// certificateLife is how long the certificate lasts that an agent would have, which is longer than a line does.
const certificateLife = 30 * 24 * time.Hour

// renewer is what a real agent renews its lease with. Where there are to be lines it goes by that of this life, which is
// kept with what a real agent keeps it with.
func (a *agent) renewer(l *life) (manager.Runnable, error) {
	if a.fleet.options.Lines {
		var err error
		if l.connector, err = a.connector(l); err != nil {
			return nil, err
		}
	}
	deps := presence.Deps{
		Cluster: a.name, Clock: clock.RealClock{}, LeaseDuration: setup.DefaultLeaseDuration, OutageEnds: l.outage.Ended,
		LeaseRenewFraction: a.fleet.options.LeaseInterval.Seconds() / setup.DefaultLeaseDuration.Seconds(),
	}
	if l.connector != nil {
		deps.Line, deps.Renewed = setup.LineOf(l.connector.State()), l.unheard.Tell
	}
	renewer, err := presence.Renewer(l.hubClient, l.hubClient, deps)
	if err != nil {
		return nil, fmt.Errorf("renewing the lease of %q: %w", a.name, err)
	}
	return renewer, nil
}

// connector keeps the line of a life. The agent lets no operators in, and is always well.
func (a *agent) connector(l *life) (*connect.Connector, error) {
	notAfter := time.Now().Add(certificateLife)
	connector, err := connect.New(connect.Deps{
		Cluster: a.name, Clock: clock.RealClock{},
		Certificate: func() (string, time.Time) { return a.name, notAfter },
		Open: func(ctx context.Context, path string, header http.Header) (net.Conn, *http.Response, error) {
			return a.openLine(ctx, l, path, header)
		},
		OutageEnds: l.unheard.Ended,
		Well: func() error {
			a.fleet.traffic.asked.Add(1)
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("keeping a line of %q: %w", a.name, err)
	}
	return connector, nil
}

// openLine opens a line in the name of the agent.
func (a *agent) openLine(ctx context.Context, l *life, path string, header http.Header) (net.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	header = header.Clone()
	as := a.identity()
	header.Set(transport.ImpersonateUserHeader, as.UserName)
	header[transport.ImpersonateGroupHeader] = as.Groups
	hub := rest.CopyConfig(a.fleet.options.Hub)
	if token := hub.BearerToken; token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := a.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l.lineConn.Store(conn)
		return conn, nil
	}
	return registration.Attach(ctx, hub, dial, hub.Host, path, header)
}

// cut ends the connection of the line without a goodbye, as when a network fails.
func (l *life) cut() {
	if conn := l.lineConn.Load(); conn != nil {
		_ = conn.Close() // then it is cut
	}
}

// rests says whether the hub takes the line of the agent for the sign of life.
func (a *agent) rests() bool {
	l := a.alive()
	if l == nil || l.connector == nil {
		return false
	}
	line, _ := l.connector.State().Now()
	return line.Up && line.IsPresence
}

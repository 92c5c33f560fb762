package hollow

import (
	"fmt"

	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/agent/connect"
	"fairlead.dev/agent/presence"
	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
)

// renewer returns the lease renewer of a real agent. With lines it uses the line of this life, which is kept by the
// connector of a real agent.
func (a *agent) renewer(l *life, credentials *registration.Credentials) (manager.Runnable, error) {
	if a.fleet.options.Lines {
		var err error
		if l.connector, err = a.connector(l, credentials); err != nil {
			return nil, err
		}
	}
	deps := presence.Deps{
		Cluster: a.name, Clock: clock.RealClock{}, LeaseDuration: setup.DefaultLeaseDuration, OutageEnds: l.outage.Ended,
		LeaseRenewFraction: a.fleet.options.LeaseInterval.Seconds() / setup.DefaultLeaseDuration.Seconds(),
		Trust: func() presence.Trust {
			authorities, issuer := credentials.Trust()
			return presence.Trust{Authorities: authorities, Issuer: issuer}
		},
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

// connector keeps the line of a life open. The agent lets no operators in, and is always healthy.
func (a *agent) connector(l *life, credentials *registration.Credentials) (*connect.Connector, error) {
	connector, err := connect.New(connect.Deps{
		Cluster: a.name, Clock: clock.RealClock{}, Certificate: credentials.Certificate, Open: credentials.Attach, OutageEnds: l.unheard.Ended,
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

// rests reports whether the hub counts the agent's line as its heartbeat.
func (a *agent) rests() bool {
	l := a.alive()
	if l == nil || l.connector == nil {
		return false
	}
	line, _ := l.connector.State().Now()
	return line.Up && line.IsPresence
}

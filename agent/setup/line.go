package setup

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"fairlead.dev/agent/access"
	"fairlead.dev/agent/connect"
	"fairlead.dev/agent/presence"
	"fairlead.dev/common/contract"
)

// addLine adds the line to the hub, and the handler for operators' requests over it. It returns the state of the
// line; nil if no line is to be opened.
func addLine(ctx context.Context, mgr manager.Manager, o Options, me *hubContact) (*connect.State, error) {
	if o.Line.Open == nil {
		return nil, nil
	}
	var connector *connect.Connector
	operators, err := access.New(ctx, access.Options{
		Cluster: o.Cluster, Member: o.Member, StateDir: o.StateDir, Clock: o.Clock,
		Changed: func() { connector.Renew() }, // a new line reports the change to the hub
	})
	if err != nil {
		return nil, err
	}
	connector, err = connect.New(connect.Deps{
		Cluster:     o.Cluster,
		Open:        o.Line.Open,
		Certificate: o.Line.Certificate,
		Operators:   operators,
		Allowed:     operators.Summary,
		Well:        me.well,
		OutageEnds:  me.outage.Ended,
		Ping:        o.Line.ping,
		Clock:       o.Clock,
		Registry:    ctrlmetrics.Registry,
	})
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(manager.RunnableFunc(operators.Start)); err != nil {
		return nil, fmt.Errorf("adding what serves operators: %w", err)
	}
	return connector.State(), connect.Register(mgr, connector)
}

// LineOf converts the state of the line for package presence; nil if there is no line.
func LineOf(state *connect.State) func() (presence.Line, <-chan struct{}) {
	if state == nil {
		return nil
	}
	return func() (presence.Line, <-chan struct{}) {
		now, changed := state.Now()
		out := presence.Line{Up: now.Up, Presence: contract.LeaseIsPresence, Opened: now.Opened, Lost: now.Lost}
		if now.IsPresence {
			out.Presence = contract.LineIsPresence
		}
		return out, changed
	}
}

// well returns what an open line does not reveal: that the agent hangs, or does not reach the hub's API.
func (s *hubContact) well() error {
	if err := s.alive(); err != nil {
		return err
	}
	return s.ready()
}

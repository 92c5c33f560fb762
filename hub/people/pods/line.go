package pods

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// LineState is the state of a cluster's line, for people.
type LineState struct {
	// Known says that the cluster has or had a line. Otherwise Up and At are meaningless.
	Known bool `json:"-"`
	// Up says whether it is open, and At since when.
	Up bool      `json:"up"`
	At time.Time `json:"at"`
	// Operators summarizes what the owner of the member permits operators; empty if unknown.
	Operators string `json:"operators,omitempty"`
	// Remark says what prevents operators from access now; empty if nothing does, or if unknown.
	Remark string `json:"remark,omitempty"`
}

// LineState reads the state of a cluster's line from the hub.
func (m *Members) LineState(ctx context.Context, cluster string) LineState {
	line, err := m.Line(ctx, cluster)
	return stateOf(cluster, line, err)
}

// stateOf interprets a response about a line.
func stateOf(cluster string, line *Line, err error) LineState {
	switch {
	case apierrors.IsNotFound(err):
		return LineState{Remark: "this hub cannot reach into clusters yet: it does not serve the API group of lines"}
	case apierrors.IsForbidden(err):
		return LineState{}
	case errors.Is(err, context.DeadlineExceeded):
		return LineState{Remark: "whether " + cluster + " is connected could not be found out: the hub did not answer in time"}
	case err != nil:
		return LineState{Remark: fmt.Sprintf("whether %s is connected could not be found out: %s", cluster, ErrorSentence(err))}
	case line == nil:
		return LineState{Remark: cluster + " has no line to the hub yet; its agent opens one if its version supports lines"}
	}
	out := LineState{Known: true, Up: line.Up, Operators: line.Operators}
	text := line.Since
	if !line.Up {
		text = line.Lost
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		out.At = at
	}
	switch {
	case line.Up && line.Operators == OperatorsOff:
		out.Remark = "the owner of " + cluster + " lets no operators in; `agent operators group:NAME` there lets them in"
	case line.Up:
	case line.Goodbye:
		out.Remark = "the agent closed it, as it does when it is stopped or upgraded"
	default:
		out.Remark = "it was lost, and the agent has not come back; check whether the agent runs and reaches the hub"
	}
	return out
}

// Warning returns a sentence about what prevents operators from access to a cluster; empty if nothing does.
func (s LineState) Warning(cluster string) string {
	if !s.Known || s.Up {
		return s.Remark
	}
	since := ""
	if !s.At.IsZero() {
		since = " since " + s.At.Format(time.RFC3339)
	}
	return cluster + " is not connected now: its line is down" + since + ": " + s.Remark
}

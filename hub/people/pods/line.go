package pods

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// LineState is how the line of a cluster is, for people.
type LineState struct {
	// Known says that the cluster has or had a line. Up and At are nothing if not.
	Known bool `json:"-"`
	// Up says that it is open, and At since when it is or is not.
	Up bool      `json:"up"`
	At time.Time `json:"at"`
	// Operators says in few words what the owner of the member lets operators do; empty if that is not known.
	Operators string `json:"operators,omitempty"`
	// Remark says what stands in the way of operators now; empty if nothing does, or if that cannot be told.
	Remark string `json:"remark,omitempty"`
}

// LineState asks the hub how the line of a cluster is.
func (m *Members) LineState(ctx context.Context, cluster string) LineState {
	line, err := m.Line(ctx, cluster)
	return stateOf(cluster, line, err)
}

// stateOf says what an answer about a line means.
func stateOf(cluster string, line *Line, err error) LineState {
	switch {
	case apierrors.IsNotFound(err):
		return LineState{Remark: "this hub has no way into clusters yet: it does not serve the API group of lines"}
	case apierrors.IsForbidden(err):
		return LineState{}
	case errors.Is(err, context.DeadlineExceeded):
		return LineState{Remark: "whether " + cluster + " is connected could not be found out: the hub did not say it in time"}
	case err != nil:
		return LineState{Remark: fmt.Sprintf("whether %s is connected could not be found out: %s", cluster, ErrorSentence(err))}
	case line == nil:
		return LineState{Remark: cluster + " has no line to the hub yet; its agent opens one if it is of a version that does"}
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
		out.Remark = "the owner of " + cluster + " lets no operators in; there, `agent operators group:NAME` does"
	case line.Up:
	case line.Goodbye:
		out.Remark = "the agent has closed it, as when that is stopped or upgraded"
	default:
		out.Remark = "it was lost, and the agent has not come back; look whether that runs and reaches the hub"
	}
	return out
}

// Warning says in a sentence of its own what stands in the way of operators of a cluster; empty if nothing does.
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

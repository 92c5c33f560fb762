package show

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/connect/lines"
)

// Kinds of the API of lines.
const (
	KindLine     = "Line"
	KindLineList = "LineList"
)

// Line is the API object for the line of a cluster, the answer to GET lines/NAME.
type Line struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            LineStatus `json:"status"`
}

// LineStatus is the state of a line.
type LineStatus struct {
	// Up says that the cluster has an open line.
	Up bool `json:"up"`
	// Since is when the cluster became connected without a gap since; if it is not connected, when its last connection
	// started.
	Since metav1.Time `json:"since"`
	// Lost is when the last line ended; absent while the cluster has one.
	Lost *metav1.Time `json:"lost,omitempty"`
	// Goodbye says that the agent ended the last line deliberately.
	Goodbye bool `json:"goodbye,omitempty"`
	// Replica is the replica of the hub that holds the line.
	Replica string `json:"replica,omitempty"`
	// Presence is contract.LineIsPresence or contract.LeaseIsPresence.
	Presence string `json:"presence,omitempty"`
	// Operators summarizes what the owner of the member permits operators.
	Operators string `json:"operators,omitempty"`
}

// LineList has the lines of all clusters, by name.
type LineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Line `json:"items"`
}

// Merge merges the lines that this replica and the others know of. If several report on one cluster, the report of an
// open line wins, or else that of the line that was lost last.
func Merge(replica string, own []lines.State, others map[string][]lines.State) []Line {
	type known struct {
		lines.State
		replica string
	}
	byCluster := map[string]known{}
	add := func(replica string, states []lines.State) {
		for _, s := range states {
			is, have := byCluster[s.Cluster]
			better := !have || s.Up && !is.Up || s.Up == is.Up && (s.Since.After(is.Since) || s.Since.Equal(is.Since) && replica < is.replica)
			if better {
				byCluster[s.Cluster] = known{s, replica}
			}
		}
	}
	add(replica, own)
	for name, states := range others {
		add(name, states)
	}
	out := make([]Line, 0, len(byCluster))
	for _, k := range byCluster {
		out = append(out, lineOf(k.State, k.replica))
	}
	slices.SortFunc(out, func(a, b Line) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func lineOf(s lines.State, replica string) Line {
	l := Line{
		TypeMeta:   metav1.TypeMeta{Kind: KindLine, APIVersion: contract.ConnectGroup + "/" + contract.ConnectVersion},
		ObjectMeta: metav1.ObjectMeta{Name: s.Cluster, CreationTimestamp: metav1.NewTime(s.Since)},
		Status: LineStatus{
			Up: s.Up, Since: metav1.NewTime(s.Since), Goodbye: s.Goodbye, Replica: replica, Presence: s.Presence, Operators: s.Operators,
		},
	}
	if !s.Lost.IsZero() {
		l.Status.Lost = new(metav1.NewTime(s.Lost))
	}
	return l
}

// List returns the LineList of the items.
func List(items []Line) LineList {
	return LineList{
		TypeMeta: metav1.TypeMeta{Kind: KindLineList, APIVersion: contract.ConnectGroup + "/" + contract.ConnectVersion}, Items: items,
	}
}

// State describes the state of a line in words.
func State(s LineStatus, now time.Time) string {
	since := func(t time.Time) string { return duration.HumanDuration(max(0, now.Sub(t))) }
	switch {
	case s.Up:
		return "up " + since(s.Since.Time)
	case s.Lost == nil:
		return "down"
	case s.Goodbye:
		return fmt.Sprintf("stopped %s", since(s.Lost.Time))
	default:
		return fmt.Sprintf("down %s", since(s.Lost.Time))
	}
}

// Table renders lines as a table for kubectl.
func Table(items []Line, now time.Time) (metav1.Table, error) {
	t := metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"},
		ColumnDefinitions: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: "The cluster."},
			{Name: "Line", Type: "string", Description: "Whether the cluster has an open line, and since when."},
			{Name: "Operators", Type: "string", Description: "What the owner of the member lets operators do."},
			{Name: "Replica", Type: "string", Priority: 1, Description: "The replica of the hub that has the line."},
			{Name: "Presence", Type: "string", Priority: 1, Description: "How the member reports its presence."},
		},
		Rows: make([]metav1.TableRow, 0, len(items)),
	}
	for _, l := range items {
		raw, err := json.Marshal(metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}, ObjectMeta: l.ObjectMeta,
		})
		if err != nil {
			return t, fmt.Errorf("rendering the metadata of the line of %q: %w", l.Name, err)
		}
		t.Rows = append(t.Rows, metav1.TableRow{
			Cells:  []any{l.Name, State(l.Status, now), l.Status.Operators, l.Status.Replica, l.Status.Presence},
			Object: runtime.RawExtension{Raw: raw},
		})
	}
	return t, nil
}

package tree

import (
	"io"
	"strings"

	"fairlead.dev/common/prose"
	"fairlead.dev/hub/people/view/applications"
)

// Node is one step of the way.
type Node struct {
	// Kind and Name of the object, as namespace/name if it is in one.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Cluster is set on what is sent to one, and on what is in it.
	Cluster string `json:"cluster,omitempty"`
	// State is how it fares, and Note says more.
	State applications.State `json:"state,omitempty"`
	Note  string             `json:"note,omitempty"`
	// Next are the steps after this one.
	Next []Node `json:"next,omitempty"`
}

// Paint shows a state, in colour say.
type Paint func(state applications.State) string

// Write writes a tree as text.
func Write(w io.Writer, root Node, paint Paint) error {
	var out strings.Builder
	write(&out, root, "", "", paint)
	_, err := io.WriteString(w, out.String())
	return err
}

func write(out *strings.Builder, n Node, first, rest string, paint Paint) {
	out.WriteString(first)
	if n.Cluster != "" {
		out.WriteString("[" + n.Cluster + "] ")
	}
	out.WriteString(n.Kind + " " + n.Name)
	if n.State != "" {
		out.WriteString("  " + paint(n.State))
	}
	if n.Note != "" {
		out.WriteString("  " + prose.OneLine(n.Note))
	}
	out.WriteByte('\n')
	for i, next := range n.Next {
		if i < len(n.Next)-1 {
			write(out, next, rest+"├─ ", rest+"│  ", paint)
		} else {
			write(out, next, rest+"└─ ", rest+"   ", paint)
		}
	}
}

package tree

import (
	"io"
	"strings"

	"fairlead.dev/common/prose"
	"fairlead.dev/hub/people/view/applications"
)

// Node is a step on the path.
type Node struct {
	// Kind and Name identify the object; the name is namespace/name if it is namespaced.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Cluster is set for Works and for objects in members.
	Cluster string `json:"cluster,omitempty"`
	// State is its state, and Note says more.
	State applications.State `json:"state,omitempty"`
	Note  string             `json:"note,omitempty"`
	// Next are the steps that follow.
	Next []Node `json:"next,omitempty"`
}

// Paint formats a state, for instance with colour.
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

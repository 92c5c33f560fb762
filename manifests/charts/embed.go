// Package charts holds the Helm charts of hub and agent. The agent's is in the agent too: `agent join` renders it for a
// cluster without Helm.
package charts

import (
	"embed"
	"io/fs"
)

// Agent returns the files of the agent's chart.
func Agent() (fs.FS, error) { return fs.Sub(files, "agent") }

//go:embed agent/Chart.yaml agent/values.yaml agent/templates/*.yaml agent/templates/*.tpl
var files embed.FS

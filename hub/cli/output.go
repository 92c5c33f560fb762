package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"k8s.io/apimachinery/pkg/util/duration"

	"sigs.k8s.io/yaml"

	"fairlead.dev/common/prose"
	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
)

// The values of -o for lists.
const (
	outputTable = "table"
	outputWide  = "wide"
)

// outputFlag is the flag for the output format.
type outputFlag struct {
	format string
	// also are formats of this command in addition to the common ones.
	also []string
}

func (o *outputFlag) formats() []string {
	return slices.Concat([]string{outputTable, outputWide, outputJSON, outputYAML}, o.also)
}

// add adds the flag to a command.
func (o *outputFlag) add(cmd *cobra.Command) {
	formats := o.formats()
	cmd.Flags().StringVarP(&o.format, "output", "o", outputTable, strings.Join(formats, ", "))
	complete(cmd, "output", formats)
}

// complete sets fixed completions for a flag.
func complete(cmd *cobra.Command, flag string, values []string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// check returns an error for an unknown format.
func (o *outputFlag) check() error {
	formats := o.formats()
	if slices.Contains(formats, o.format) {
		return nil
	}
	last := len(formats) - 1
	return fmt.Errorf("--output is %q; it must be %s or %s", o.format, strings.Join(formats[:last], ", "), formats[last])
}

// text says whether the output is for people.
func (o *outputFlag) text() bool { return o.format == outputTable || o.format == outputWide }

// print prints a value for programs, or a table for people.
func (o *outputFlag) print(env Environment, value any, t *table.Table) error {
	if o.text() {
		if err := t.Write(env.Out, table.Options{Wide: o.format == outputWide, Color: env.Color}); err != nil {
			return fmt.Errorf("printing the table: %w", err)
		}
		return nil
	}
	return o.encode(env, value)
}

// encode prints a value for programs.
func (o *outputFlag) encode(env Environment, value any) error {
	var data []byte
	var err error
	if o.format == outputJSON {
		data, err = json.MarshalIndent(value, "", "  ")
		data = append(prose.JSON(data), '\n')
	} else {
		data, err = yaml.Marshal(value)
	}
	if err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	if _, err = env.exact.Write(data); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return nil
}

// items is the format of lists for programs.
type items[T any] struct {
	Items []T `json:"items"`
}

// listOf returns a list that is never null.
func listOf[T any](list []T) items[T] {
	if list == nil {
		list = []T{}
	}
	return items[T]{Items: list}
}

// toneOf returns the tone of an application's state.
func toneOf(s applications.State) table.Tone {
	switch s {
	case applications.Healthy:
		return table.Good
	case applications.Failing, applications.Unscheduled, applications.Unhealthy:
		return table.Bad
	case applications.Stale, applications.Waiting, applications.Moving, applications.RollingOut, applications.Suspended, applications.Deleting:
		return table.Warn
	default:
		return table.Plain
	}
}

// toneOfCluster returns the tone of a cluster's state.
func toneOfCluster(s clusters.State) table.Tone {
	switch s {
	case clusters.Ready:
		return table.Good
	case clusters.Silent, clusters.NotReady:
		return table.Bad
	case clusters.Joining, clusters.Cordoned, clusters.Removing:
		return table.Warn
	default:
		return table.Faint
	}
}

// since returns the age of a time; empty if it is zero.
func since(now, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(at))
}

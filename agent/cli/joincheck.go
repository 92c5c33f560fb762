package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"fairlead.dev/agent/registration"
)

// checkJoin prints what is in the way of a join, after the findings it is given, and fails if anything is.
func checkJoin(ctx context.Context, options registration.Options, found []registration.Finding, out io.Writer) error {
	// The error names the reasons too, for scripts that keep only the error.
	var reasons []string
	tell := func(finding registration.Finding) {
		printFinding(out, finding)
		if finding.Failed() {
			reasons = append(reasons, finding.Check+": "+finding.Is)
		}
	}
	for _, finding := range found {
		tell(finding)
	}
	if err := registration.Check(ctx, options, tell); err != nil {
		return err
	}
	if len(reasons) > 0 {
		return fmt.Errorf("the join would fail: %s", strings.Join(reasons, "; "))
	}
	return nil
}

// printFinding prints one line for a check, and another with the advice if it failed.
func printFinding(out io.Writer, f registration.Finding) {
	word := "ok"
	switch {
	case f.Skipped:
		word = "-"
	case f.Failed():
		word = "FAIL"
	}
	_, _ = fmt.Fprintf(out, "%-5s %-7s %s\n", word, f.Check, f.Is)
	if f.Failed() {
		_, _ = fmt.Fprintf(out, "%-13s -> %s\n", "", f.Advice)
	}
}

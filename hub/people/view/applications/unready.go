package applications

import (
	"fmt"
	"strings"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// maxUnready is how many reasons a sentence has; `hub explain` shows all.
const maxUnready = 2

// unready says why pods are not ready; empty if unknown.
func unready(reasons []workv1alpha1.PodReason) string {
	var out []string
	for i := range reasons[:min(len(reasons), maxUnready)] {
		out = append(out, Unready(&reasons[i])+".")
	}
	return strings.Join(out, " ")
}

// Unready says why pods are not ready, such as "2 pods: CrashLoopBackOff of container web, which ended with exit code 1
// (Error) and was restarted 12 times".
func Unready(r *workv1alpha1.PodReason) string {
	var b strings.Builder
	if r.Pods == 1 {
		b.WriteString("1 pod: ")
	} else {
		fmt.Fprintf(&b, "%d pods: ", r.Pods)
	}
	b.WriteString(r.Reason)
	if r.Container != "" {
		b.WriteString(" of container " + r.Container)
	}
	var happened []string
	if r.ExitCode != nil {
		ended := fmt.Sprintf("ended with exit code %d", *r.ExitCode)
		if r.Terminated != "" {
			ended += " (" + r.Terminated + ")"
		}
		happened = append(happened, ended)
	}
	switch {
	case r.Restarts == 1:
		happened = append(happened, "was restarted once")
	case r.Restarts > 1:
		happened = append(happened, fmt.Sprintf("was restarted %d times", r.Restarts))
	}
	if len(happened) > 0 {
		b.WriteString(", which " + strings.Join(happened, " and "))
	}
	if r.Message != "" {
		b.WriteString(": " + strings.TrimSuffix(r.Message, "."))
	}
	return b.String()
}

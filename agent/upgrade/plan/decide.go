package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// runsFor is how long a new agent runs before it has proved itself; half of spec.agent.reportWithin where that is less.
const runsFor = 30 * time.Second

// Decide says what the guard does next. What is under way is brought to an end before anything
// else is begun.
func Decide(in Input) Step {
	switch {
	case in.Record != nil && in.Record.Phase == clusterv1alpha1.AgentUpgrading:
		return underWay(in)
	case in.Request == nil, in.Record.About(in.Request.Image, in.Request.Attempt), in.Record.After(in.Request.Attempt):
		return Step{Done: true}
	default:
		return begin(in)
	}
}

// underWay decides about an upgrade that has begun.
func underWay(in Input) Step {
	next := *in.Record
	switch {
	case in.Image != next.Image:
		next.Phase = clusterv1alpha1.AgentRolledBack
		next.Message = fmt.Sprintf("somebody in the member changed the image to %s while it was being upgraded, which stays", in.Image)
		return Step{Record: &next}
	case in.Reported == next.Start:
		next.Phase = clusterv1alpha1.AgentUpgraded
		next.Message = "upgraded from " + next.Previous
		return Step{Record: &next}
	case in.Now.Before(next.Deadline):
		return Step{}
	}
	next.Phase = clusterv1alpha1.AgentRolledBack
	next.Message = fmt.Sprintf("the hub did not hear it within %s, so %s runs again", next.Within, next.Previous)
	if in.Trouble != "" {
		next.Message += ": " + in.Trouble
	}
	return Step{Record: &next, Image: next.Previous, Start: next.Start + "-back"}
}

// begin decides about what was not tried yet.
func begin(in Input) Step {
	next := &Record{Image: in.Request.Image, Attempt: in.Request.Attempt}
	switch {
	case !Allows(in.Allowed, next.Image):
		next.Phase = clusterv1alpha1.AgentRefused
		next.Message = fmt.Sprintf("the owner of the member allows images of %s only; `agent join --install --upgrade-images` there says of which", strings.Join(in.Allowed, ", "))
		return Step{Record: next}
	case in.Image == next.Image:
		next.Phase, next.Message = clusterv1alpha1.AgentUpgraded, "it ran already"
		return Step{Record: next}
	}
	sum := sha256.Sum256(fmt.Append(nil, next.Image, next.Attempt, in.Now.UnixNano()))
	next.Phase, next.Previous, next.Start = clusterv1alpha1.AgentUpgrading, in.Image, hex.EncodeToString(sum[:5])
	next.Within, next.Deadline = in.Request.ReportWithin, in.Now.Add(in.Request.ReportWithin)
	return Step{Record: next, Image: next.Image, Start: next.Start}
}

// ProvesAfter is how long an agent is to have run before it names its start: one that dies of what it does first is not one that works.
func ProvesAfter(record *Record, start string) time.Duration {
	if record == nil || record.Phase != clusterv1alpha1.AgentUpgrading || record.Start != start {
		return 0 // nobody waits for it
	}
	return min(runsFor, record.Within/2)
}

// Repository returns an image without its tag and digest.
func Repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

// Allows says whether an image is of one of some repositories: of one of that very name, or, if it
// ends with a slash, of any below it.
func Allows(repositories []string, image string) bool {
	of := Repository(image)
	return slices.ContainsFunc(repositories, func(allowed string) bool {
		return allowed != "" && (of == allowed || strings.HasSuffix(allowed, "/") && strings.HasPrefix(of, allowed) && !strings.Contains(of, ".."))
	})
}
